"""Whoever embeds the agent can write what the test kit holds: it uses public names alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
KIT = sorted((ROOT / "shared/fisk_ai/testing").glob("*.py"))


def private_names(tree: ast.Module) -> list[str]:
    """Return every private name of another module, and every private member of another object."""
    found = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if "._" in f"{node.module}.{alias.name}"
    ]
    return found + [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.endswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


@pytest.mark.parametrize("file", KIT, ids=lambda path: path.stem)
def test_the_test_kit_is_made_of_public_names_alone(file: Path) -> None:
    assert private_names(ast.parse(file.read_text(encoding="utf-8"))) == []


def test_a_private_name_is_found() -> None:
    tree = ast.parse("from fisk_ai.agent.run import _run\nobject_._secret()\nself._own\n")
    assert private_names(tree) == ["fisk_ai.agent.run._run", "object_._secret"]
