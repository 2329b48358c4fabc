"""Whatever stands where an id belongs, no verb takes it for a flag, a path or a pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.sessions.records import Deferred
from fisk_ai.testing.session_records import assistant, write_file

HOSTILE = (
    *(
        "-x",
        "--config",
        "../one",
        "/etc/passwd",
        "*",
        ">",
        "a b",
        "a.b",
        "one\n",
        "one\0",
        "..",
        "unknown",
        "",
    ),
    *("x" * 129, "\u202eeno", "\x1b[2J", "\udcff"),
)
VERBS = (
    ("show",),
    ("rm",),
    ("stats",),
    ("query",),
    ("answer", "--input", "yes"),
    ("approve",),
    ("deny",),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One session, beside a file that a path could lead to."""
    deferred = Deferred(tool_use_id="a", tool_name="ask_human_input")
    write_file(tmp_path / "runs", "one", assistant("a"), deferred)
    write_file(tmp_path, "one", assistant("a"), deferred)
    return tmp_path / "runs"


def files_below(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*.json") if path.is_file()}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_no_verb_takes_an_id_for_anything_else(
    store: Path, verb: tuple[str, ...], hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_below(store.parent)
    assert main(["session", *verb, "--state-dir", str(store), "--", hostile]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("fisk-ai: error: ")
    assert len(printed.err.splitlines()) == 1
    assert printed.err.rstrip("\n").isprintable()
    assert files_below(store.parent) == before


@pytest.mark.parametrize("verb", VERBS[4:], ids=lambda verb: verb[0])
@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_no_verb_takes_a_call_for_another(
    store: Path, verb: tuple[str, ...], hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_below(store.parent)
    assert main(["session", *verb, "--state-dir", str(store), "--", "one", hostile]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("fisk-ai: error: ")
    assert len(printed.err.splitlines()) == 1
    assert printed.err.rstrip("\n").isprintable()
    assert files_below(store.parent) == before
