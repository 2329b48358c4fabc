"""``fisk-ai session rm`` removes what is old and finished, and nothing else."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.store import Filter, RunInfo
from fisk_ai.testing.session_records import assistant, meta, terminal, write_file
from fisk_ai.text import clock

_DAY_NS = 86_400 * 1_000_000_000


def _ago(days: int) -> str:
    return clock.rfc3339(time.time_ns() - days * _DAY_NS)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name, days, ending in (
        ("done-old", 9, [terminal()]),
        ("failed-old", 9, [terminal("error")]),
        ("spent-old", 9, [terminal("budget")]),
        ("capped-old", 9, [terminal("max_iterations")]),
        ("done-new", 1, [terminal()]),
        ("parked-old", 9, [terminal("suspended")]),
        ("open-old", 9, [assistant("c1")]),
    ):
        write_file(tmp_path, name, *ending, opening=meta(created=_ago(days)))
    return tmp_path


def _rm(store: Path, *words: str) -> int:
    return main(["session", "rm", "--state-dir", str(store), *words])


def _left(store: Path) -> set[str]:
    return {path.stem for path in store.glob("*.json")}


def test_age_removes_what_ended_and_spares_what_may_go_on(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _rm(store, "--older-than", "7d") == 0
    assert set(capsys.readouterr().out.splitlines()) == {
        f"Removed session {name}-old" for name in ("done", "failed", "spent", "capped")
    }
    assert _left(store) == {"done-new", "parked-old", "open-old"}


def test_open_removes_what_may_go_on_as_well(store: Path) -> None:
    assert _rm(store, "--older-than", "7d", "--open") == 0
    assert _left(store) == {"done-new"}


def test_a_dry_run_says_what_would_go_and_removes_nothing(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _left(store)
    assert _rm(store, "--older-than", "7d", "--dry-run") == 0
    assert _rm(store, "done-new", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "Would remove session done-new"
    assert _left(store) == before


def test_a_held_session_is_skipped_and_named(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = asyncio.run(FileStore(store).open("done-old"))
    assert _rm(store, "--older-than", "7d") == 0
    printed = capsys.readouterr()
    assert printed.err == "skipped session done-old: a run holds it\n"
    assert "done-old" not in printed.out
    assert {"done-old"} == _left(store) - {"done-new", "parked-old", "open-old"}
    asyncio.run(holder.close())


def test_a_dry_run_says_of_a_held_session_what_a_real_one_would(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = asyncio.run(FileStore(store).open("done-old"))
    assert _rm(store, "--older-than", "7d", "--dry-run") == 0
    printed = capsys.readouterr()
    assert printed.err == "skipped session done-old: a run holds it\n"
    assert "done-old" not in printed.out
    told: list[str] = []
    for words in (["--dry-run"], []):
        assert _rm(store, "done-old", *words) == 1
        told.append(capsys.readouterr().err)
    assert told[0] == told[1]
    assert "is held by another run (pid " in told[0]
    asyncio.run(holder.close())
    assert _rm(store, "done-old", "--dry-run") == 0
    assert capsys.readouterr().out == "Would remove session done-old\n"


def test_a_damaged_session_is_left_and_said(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "done-old.json").write_bytes(b"damage\n")
    os.utime(store / "done-old.json", (0, 0))
    assert _rm(store, "--older-than", "7d", "--open") == 0
    assert "done-old" in _left(store)
    assert capsys.readouterr().err.startswith("1 session is left out, which cannot be read")


class _Busy(FileStore):
    """A store where a listed session is gone on with before it is looked at again."""

    async def list(self, criteria: Filter) -> list[RunInfo]:
        rows = await super().list(criteria)
        handle = await self.open("done-old")
        await handle.append(handle.last_seq() + 1, terminal())
        await handle.close()
        return rows


def test_a_session_that_was_gone_on_with_meanwhile_is_spared(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def busy(**_: object) -> AsyncGenerator[FileStore]:
        yield _Busy(store)

    monkeypatch.setattr("fisk_ai.cli.stores.opened", busy)
    assert _rm(store, "--older-than", "7d") == 0
    assert _left(store) == {"done-old", "done-new", "parked-old", "open-old"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--older-than", "7d", "one"], "takes no ids"),
        (["--older-than", "0"], "0 has no unit; write 0s"),
        (["--open", "one"], "--open only applies"),
        (["--older-than", "soon"], "invalid duration"),
        (["--older-than=-1d"], "not negative"),
        (["--older-than"], "expected one argument"),
        ([], "required: id"),
    ],
)
def test_what_cannot_be_meant_removes_nothing(
    store: Path, words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _left(store)
    assert _rm(store, *words) == 1
    assert named in capsys.readouterr().err
    assert _left(store) == before


def test_an_age_that_nothing_has_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "rm", "--state-dir", str(tmp_path), "--older-than", "1h"]) == 0
    assert capsys.readouterr().out == "Nothing to remove\n"


def test_no_verb_makes_a_directory_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere"
    for words in (
        ("rm", "one"),
        ("rm", "--older-than", "1d"),
        ("answer", "one", "--input", "x"),
        ("deny", "one"),
    ):
        main(["session", words[0], "--state-dir", str(nowhere), *words[1:]])
    main(["run", "--resume", "one", "--state-dir", str(nowhere), "--config", _agent(tmp_path)])
    assert not nowhere.exists()
    last = capsys.readouterr().err.splitlines()[-1]
    assert (
        f"there is no conversation by that name: the session directory {nowhere} does not" in last
    )


def test_a_resume_of_what_is_not_there_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, elsewhere = _agent(tmp_path), tmp_path / "elsewhere"
    (elsewhere / "runs").mkdir(parents=True)
    with (tmp_path / "agent.yaml").open("a", encoding="utf-8") as file:
        file.write("harness: {memory: {enabled: true}}\n")
    monkeypatch.chdir(elsewhere)
    runs = str(elsewhere / "runs")
    assert main(["run", "--resume", "one", "--state-dir", runs, "--config", config]) == 1
    assert f"the session directory {runs} holds none; resume where" in capsys.readouterr().err
    assert [path.name for path in elsewhere.iterdir()] == ["runs"]


def _agent(folder: Path) -> str:
    config = folder / "agent.yaml"
    config.write_text("system_prompt: p\nllm: {model: m}\n", encoding="utf-8")
    return str(config)
