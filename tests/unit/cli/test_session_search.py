"""``fisk-ai session search`` looks over all sessions, and no listing looks complete that is not."""

from __future__ import annotations

import json
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.session import execute
from fisk_ai.cli.times import local_time
from fisk_ai.sessions import codec
from fisk_ai.testing.session_records import claim, journal, meta, terminal, write_file
from fisk_ai.text import clock


def _run(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["session", words[0], "--state-dir", str(store), *words[1:]]) == 0
    return capsys.readouterr().out


def _runs(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, str]]:
    found = json.loads(_run(store, capsys, "search", *words, "--json"))
    return cast("list[dict[str, str]]", found["runs"])


@pytest.fixture
def many(tmp_path: Path) -> Path:
    january, march = meta("say moo", created="2026-01-01T00:00:00Z"), "2026-03-01T00:00:00Z"
    february = meta("moo", created="2026-02-01T00:00:00Z")
    cow, dog = replace(january, agent="cow"), replace(february, agent="dog", prompt="bark")
    write_file(tmp_path, "cow-old", terminal(), opening=cow)
    write_file(tmp_path, "cow-new", claim(), opening=replace(cow, prompt="say\nMOO", created=march))
    write_file(tmp_path, "nobody", terminal("error"), opening=replace(february, caller="me"))
    dog = replace(dog, created="2026-02-02T00:00:00Z")
    write_file(tmp_path, "dog", terminal(), opening=dog)
    return tmp_path


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], ["cow-new", "dog", "nobody", "cow-old"]),
        (["--identity", "cow"], ["cow-new", "cow-old"]),
        (["--caller", "me"], ["nobody"]),
        (["--model", "small", "--status", "completed"], ["dog", "cow-old"]),
        (["--model", "large"], []),
        (["--status", "open"], ["cow-new"]),
        (["--match", "(?i)^say.moo"], ["cow-old"]),
        (["--match", "(?is)^say.moo"], ["cow-new", "cow-old"]),
        (["--since", "2026-02-01T00:00:00Z"], ["cow-new", "dog", "nobody"]),
        (["--until", "2026-02-01T02:00:00+02:00"], ["nobody", "cow-old"]),
        (["--since", "2026-01-15", "--until", "2026-02-15"], ["dog", "nobody"]),
        (["--since", "1h"], []),
        (["--limit", "2", "--offset", "1"], ["dog", "nobody"]),
    ],
)
def test_filters_of_a_search_are_combined(
    many: Path, capsys: pytest.CaptureFixture[str], filters: list[str], found: list[str]
) -> None:
    runs = _runs(many, capsys, *filters)
    assert [run["run_id"] for run in runs] == found


def test_a_date_is_midnight_on_the_readers_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    midnight = datetime(2026, 3, 4).astimezone()
    for name, moment in (("before", midnight - timedelta(seconds=1)), ("at", midnight)):
        write_file(tmp_path, name, opening=meta(created=moment.isoformat()))
    runs = _runs(tmp_path, capsys, "--since", "2026-03-04")
    assert [run["run_id"] for run in runs] == ["at"]


def test_a_duration_counts_back_from_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now_ns = time.time_ns()
    for name, age_s in (("hour", 3600), ("week", 7 * 86_400)):
        write_file(tmp_path, name, opening=meta(created=clock.rfc3339(now_ns - age_s * 10**9)))
    runs = _runs(tmp_path, capsys, "--since", "2d")
    assert [run["run_id"] for run in runs] == ["hour"]


def test_a_search_shows_the_columns_it_was_made_with(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = _run(many, capsys, "search").splitlines()[1]
    assert [cell.strip() for cell in plain.split("│")[1:-1]] == [
        "ID",
        "Model",
        "Status",
        "Updated",
        "Prompt",
    ]
    flags = ["--identity", "cow", "--caller", "", "--since", "2025-01-01"]
    header, _, *rows = _run(many, capsys, "search", *flags).splitlines()[1:]
    assert [cell.strip() for cell in header.split("│")[5:-2]] == ["Agent", "Caller", "Created"]
    assert " cow " in rows[0]
    assert local_time("2026-03-01T00:00:00Z") in rows[0]


_BARKS = ("--identity", "cow", "--match", "bark")


def test_a_search_by_agent_says_what_it_cannot_tell(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "search", "--state-dir", str(many), "--identity", "cow"]) == 0
    assert capsys.readouterr().err == (
        "1 session names no agent and is in no answer to --identity\n"
    )
    found = json.loads(_run(many, capsys, "search", *_BARKS, "--json"))
    assert found == {"runs": [], "no_agent_excluded": 0}


def test_a_search_is_there_for_other_programs(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = _runs(many, capsys, "--caller", "me")
    assert runs == [
        {
            "run_id": "nobody",
            "caller": "me",
            "model": "small",
            "status": "error",
            "created": "2026-02-01T00:00:00Z",
            "updated": "2026-02-01T00:00:01Z",
            "ended": "2026-02-01T00:00:01Z",
            "prompt": "moo",
        }
    ]


def test_a_search_without_a_match_says_so(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(many, capsys, "search", "--model", "large") == "No sessions matched\n"


def test_a_listing_that_stops_early_says_how_to_go_on(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    for offset in (0, 2):
        words = ["--limit", "2", "--offset", str(offset)]
        assert main(["session", "ls", "--state-dir", str(many), *words]) == 0
        printed = capsys.readouterr()
        seen += [line.split("│")[1].strip() for line in printed.out.splitlines()[3:-1]]
        hint = "more sessions: pass --offset 2\n" if offset == 0 else ""
        assert printed.err == hint
    assert seen == ["cow-new", "dog", "nobody", "cow-old"]


@pytest.mark.parametrize("verb", ["ls", "search"])
def test_how_to_go_on_stands_behind_what_was_listed(many: Path, verb: str) -> None:
    with redirect_stdout(StringIO()) as screen, redirect_stderr(screen):
        assert execute([verb, "--state-dir", str(many), "--limit", "1"]) == 0
    assert screen.getvalue().endswith("╯\nmore sessions: pass --offset 1\n")


def test_a_listing_of_more_than_a_page_stops_at_a_thousand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = codec.encode(journal()[0])
    for number in range(1001):
        (tmp_path / f"s{number}.json").write_bytes(body + b"\n")
    assert main(["session", "ls", "--state-dir", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1004
    assert printed.err == "more sessions: pass --offset 1000\n"


@pytest.mark.parametrize("verb", ["search", "ls"])
def test_a_page_behind_the_last_row_is_refused_and_not_empty(
    many: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert main(["session", verb, "--state-dir", str(many), "--offset", "4"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "--offset 4 is behind the last of 4 sessions" in err
