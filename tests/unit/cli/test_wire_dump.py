"""The dump of the conversation's messages."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fisk_ai.cli.wire_dump import FILE, open_dump
from fisk_ai.errors import SetupError


@pytest.fixture
def full_at() -> Iterator[Callable[[int], None]]:
    """Return what lets no file of this process grow beyond so many bytes, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_message_is_one_line_that_only_its_owner_can_read(tmp_path: Path) -> None:
    dump, close = open_dump(tmp_path)
    dump(">", "choria.fisk-ai.task.cow", b'{"a":1}')
    dump("<", "choria.fisk-ai.task.cow", b'{"b":2}')
    close()
    lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r'\d{4}-\S+Z > choria\.fisk-ai\.task\.cow \{"a":1\}', lines[0])
    assert lines[1].endswith('< choria.fisk-ai.task.cow {"b":2}')
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_planted_link_is_dropped_and_never_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / FILE).symlink_to(victim)
    dump, close = open_dump(tmp_path)
    dump(">", "s", b"x")
    close()
    assert victim.read_text(encoding="utf-8") == "precious"
    assert not (tmp_path / FILE).is_symlink()


def test_an_older_dump_is_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("old", encoding="utf-8")
    dump, close = open_dump(tmp_path)
    dump(">", "s", b"new")
    close()
    assert (tmp_path / FILE).read_bytes().endswith(b"> s new\n")


def test_a_run_that_was_refused_leaves_no_empty_dump(tmp_path: Path) -> None:
    _, close = open_dump(tmp_path)
    close()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(SetupError, match=r"a2a-debug\.log cannot be created"):
        open_dump(tmp_path)


def test_a_failing_write_fails_nothing(
    tmp_path: Path, full_at: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    dump, close = open_dump(tmp_path)
    dump(">", "s", b"kept")
    full_at((tmp_path / FILE).stat().st_size + 50)
    for _ in range(3):
        dump(">", "s", b"lost" * 100)
    close()
    assert capsys.readouterr().err == (
        "warning: a2a-debug.log is incomplete, because a message could not be written: "
        "File too large\n"
    )
    line, cut = (tmp_path / FILE).read_bytes().splitlines()
    assert line.endswith(b"> s kept")
    assert len(cut) == 50


def test_a_message_behind_the_end_is_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, close = open_dump(tmp_path)
    close()
    dump(">", "s", b"late")
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""
