"""Applications to load, configurations that name them, and a way to write small programs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from fisk_ai.config import Config, Mode, loads
from fisk_ai.toolkit.contract import Tool
from fisk_ai.toolkit.fisk.application import LoadedApplication, load

FIXTURES = Path(__file__).parent / "fixtures"


class Program(Protocol):
    def __call__(self, script: str, name: str = "program") -> Path: ...


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Write a shell program and return its path."""

    def write(script: str, name: str = "program") -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def printing(program: Program) -> Callable[[str], Path]:
    """Write a program that answers introspection with one of the fixture documents."""

    def serve(document: str) -> Path:
        return program(f'cat "{FIXTURES / document}.json"', name=document)

    return serve


class Configure(Protocol):
    def __call__(self, path: Path | str, more: str = "") -> Config: ...


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Return the configuration of an agent that wraps ``path``; ``more`` is further YAML."""

    def of(path: Path | str, more: str = "") -> Config:
        text = f"application_path: {json.dumps(str(path))}\nllm: {{model: m}}\n{more}"
        return loads(text, Mode.LENIENT, source=tmp_path / "agent.yaml")

    return of


Loading = Callable[..., Awaitable[LoadedApplication]]


@pytest.fixture
def loaded(printing: Callable[[str], Path], configure: Configure) -> Loading:
    """Load one of the fixture documents with further YAML in the configuration."""

    async def of(document: str, more: str = "") -> LoadedApplication:
        return await load(configure(printing(document), more), environ=os.environ)

    return of


@pytest.fixture
def named() -> Callable[[Sequence[Tool], str], Tool]:
    """Find a tool by its name."""

    def find(tools: Sequence[Tool], name: str) -> Tool:
        return next(tool for tool in tools if tool.name == name)

    return find


async def _until(holds: Callable[[], bool]) -> None:
    """Wait for what another process does; there is nothing of ours that could tell."""
    async with asyncio.timeout(8):
        while not holds():  # noqa: ASYNC110 - the event is in another process
            await asyncio.sleep(0.005)


@pytest.fixture
def gone() -> Callable[[int], Awaitable[None]]:
    """Wait until a process is no more, or waits only for its parent to take notice."""

    def is_gone(pid: int) -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return True
        return state.rpartition(")")[2].split()[0] == "Z"

    return lambda pid: _until(lambda: is_gone(pid))


@pytest.fixture
def written() -> Callable[[Path], Awaitable[str]]:
    """Wait until another process wrote a whole line into a file, and return it."""

    def content(path: Path) -> str:
        return path.read_text(encoding="utf-8") if path.exists() else ""

    async def line(path: Path) -> str:
        await _until(lambda: content(path).endswith("\n"))
        return content(path).strip()

    return line
