"""The table that `make bench` prints, and the disk on which it measures."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass(slots=True)
class Printed:
    """What is printed once every benchmark has run."""

    rows: list[Sequence[str]] = field(default_factory=list[Sequence[str]])
    notes: list[str] = field(default_factory=list[str])


PRINTED = pytest.StashKey[Printed]()
HEADER = ("figure", "measured", "aim", "from")


def _printed(config: pytest.Config) -> Printed:
    return config.stash.setdefault(PRINTED, Printed())


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Callable[[str, str, str, str], None]:
    """Add a figure: its name, what was measured, the aim, and what it was computed from."""
    rows = _printed(request.config).rows

    def add(name: str, measured: str, aim: str, source: str) -> None:
        rows.append((name, measured, aim, source))

    return add


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Add a paragraph below the table."""
    return _printed(request.config).notes.append


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory below ``build/``, since temporary directories are often kept in memory."""
    base = request.config.rootpath / "build" / "benchmarks"
    base.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=base))
    yield directory
    shutil.rmtree(directory)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table; a run without benchmarks has none."""
    printed = _printed(config)
    if not printed.rows:
        return
    filesystem = _filesystem(config.rootpath / "build" / "benchmarks")
    terminalreporter.section("benchmarks")
    terminalreporter.write_line(
        f"Python {platform.python_version()} on {platform.machine()}, "
        f"{platform.system()} {platform.release()}; files in build/benchmarks on {filesystem}"
    )
    for line in ("", *_table([HEADER, *printed.rows]), *_paragraphs(printed.notes)):
        terminalreporter.write_line(line)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _paragraphs(notes: Sequence[str]) -> Iterator[str]:
    for paragraph in notes:
        yield ""
        yield from paragraph.strip().splitlines()


def _filesystem(directory: Path) -> str:
    """Return the type of the file system below ``directory``, where the system tells it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "a file system of unknown type"
    found = (line.split()[1:3] for line in mounts.read_text(encoding="utf-8").splitlines())
    holding = [(len(at), kind) for at, kind in found if directory.is_relative_to(at)]
    return max(holding)[1]
