"""Strategies and places for the session tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.sessions.file import FileStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return where the file store of a test keeps its sessions."""
    return tmp_path / "runs"


@pytest.fixture
def store(directory: Path) -> FileStore:
    """Return a file store that holds nothing."""
    return FileStore(directory)


@pytest.fixture
def golden() -> Path:
    """Return the folder of journals in the form of the other implementation."""
    return Path(__file__).parent / "golden"
