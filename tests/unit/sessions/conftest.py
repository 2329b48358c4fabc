"""Strategies and places for the session tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest

from fisk_ai.sessions import codec, schema, shapes
from fisk_ai.sessions.file import FileStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return where the file store of a test keeps its sessions; it is there."""
    place = tmp_path / "runs"
    place.mkdir()
    return place


@pytest.fixture
def store(directory: Path) -> FileStore:
    """Return a file store that holds nothing."""
    return FileStore(directory)


@pytest.fixture
def golden() -> Path:
    """Return the folder of journals in the form of the other implementation."""
    return Path(__file__).parent / "golden"


Validate = Callable[[bytes], None]


@pytest.fixture(scope="session")
def validate() -> Validate:
    """Return what checks a record's bytes against the published schema of its kind."""
    read = {path.name: json.loads(path.read_bytes()) for path in schema.DIRECTORY.glob("*.json")}
    known = {str(document["$id"]): document for document in read.values()}
    registry = jsonschema_rs.Registry(list(known.items()))
    checks = {
        segment: jsonschema_rs.Draft202012Validator(
            read[f"session.{segment}.json"], registry=registry, validate_formats=True
        )
        for segment in shapes.SHAPES
    }

    def check(body: bytes) -> None:
        record = json.loads(body)
        checks[record["protocol"].removeprefix(codec.NAMESPACE)].validate(record)

    return check
