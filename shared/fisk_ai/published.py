"""JSON Schemas that are published as files: their addresses, their text, and writing them anew.

Each package that publishes some makes them from the one source that its code reads and writes by,
and keeps them in its folder ``schemas``. Nothing reads the files at run time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

BASE = "https://choria.io/schemas/io.choria.fisk-ai.v1/"
"""What the address of every schema begins with; the name of its file follows."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def opening(name: str) -> Schema:
    """Return what the schema in the file ``name`` begins with."""
    return {"$schema": _DIALECT, "$id": f"{BASE}{name}"}


def by_name(made: list[Schema]) -> dict[str, Schema]:
    """Return schemas by the names of their files."""
    return {document["$id"].removeprefix(BASE): document for document in made}


def text_of(document: Mapping[str, Any]) -> str:
    """Return a schema as it is written to its file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(directory: Path, wanted: Mapping[str, Schema]) -> None:
    """Write every file anew and remove those that are no schema any more."""
    directory.mkdir(exist_ok=True)
    for stale in directory.glob("*.json"):
        if stale.name not in wanted:
            stale.unlink()
    for name, document in wanted.items():
        (directory / name).write_text(text_of(document), encoding="utf-8")
