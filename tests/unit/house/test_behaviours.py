"""The check of ``tests/behaviours.toml`` finds what it is for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
GOOD = {"id": "a.b", "promise": "Something holds.", "tests": ["tests/x.py::test_y"]}


@pytest.fixture(scope="module")
def behaviours() -> ModuleType:
    path = ROOT / "scripts" / "behaviours.py"
    spec = importlib.util.spec_from_file_location("behaviours", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_proved_promise_passes(behaviours: ModuleType) -> None:
    assert behaviours.problems([GOOD], {"tests/x.py::test_y"}) == []


def test_a_parametrised_test_proves_a_promise_by_its_plain_name(behaviours: ModuleType) -> None:
    entry = GOOD | {"tests": ["tests/x.py::test_y[case-1]"]}
    assert behaviours.problems([entry], {"tests/x.py::test_y"}) == []


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([GOOD, GOOD], "twice"),
        ([GOOD | {"tests": []}], "names no test"),
        ([GOOD | {"tests": ["tests/x.py::test_z"]}], "no such test"),
        ([GOOD | {"promise": ""}], "needs exactly"),
        ([GOOD | {"note": "x"}], "needs exactly"),
    ],
)
def test_a_promise_that_is_not_proved_is_named(
    behaviours: ModuleType, entries: list[dict[str, object]], complaint: str
) -> None:
    found = behaviours.problems(entries, {"tests/x.py::test_y"})
    assert len(found) == 1
    assert found[0].startswith("a.b: ")
    assert complaint in found[0]
