from __future__ import annotations

import pytest

from fisk_ai.errors import CorruptError
from fisk_ai.sessions import codec, lines
from fisk_ai.testing.session_records import journal, user

GOOD = [codec.encode(record) + b"\n" for record in journal(user("x"), user("y"))]


def _seqs(data: bytes) -> tuple[list[int], int]:
    parsed = lines.parse(data, "a.json")
    return [record.seq for record in parsed.records], parsed.length_bytes


@pytest.mark.parametrize(
    "torn",
    [
        b'{"seq":4',
        b'{"seq":4\n',
        b"\0\0\0\n",
        b"\xff",
        b'{"seq":"4"}\n',
        b'{"time":"now"}',
        b"[]\n",
    ],
)
def test_a_torn_last_line_is_dropped_with_or_without_its_newline(torn: bytes) -> None:
    whole = b"".join(GOOD)
    assert _seqs(whole + torn) == ([1, 2, 3], len(whole))


def test_a_last_record_without_its_newline_is_kept() -> None:
    whole = b"".join(GOOD)[:-1]
    assert _seqs(whole) == ([1, 2, 3], len(whole))


@pytest.mark.parametrize("blank", [b"\n", b"  \n", b"\t\r\n"])
def test_blank_lines_are_skipped_and_counted(blank: bytes) -> None:
    whole = blank + GOOD[0] + blank + GOOD[1] + blank
    assert _seqs(whole) == ([1, 2], len(whole))
    with pytest.raises(CorruptError, match=r"a\.json line 4: "):
        lines.parse(blank + GOOD[0] + blank + b"x\n" + GOOD[1], "a.json")


@pytest.mark.parametrize("behind", [b"\n", b" ", GOOD[2], b"torn too"])
def test_a_torn_line_with_anything_behind_it_is_damage(behind: bytes) -> None:
    with pytest.raises(CorruptError, match=r"a\.json line 2: .*restore the file or remove it"):
        lines.parse(GOOD[0] + b'{"seq":2\n' + behind, "a.json")


def test_a_line_of_null_is_a_record_and_no_torn_line() -> None:
    assert _seqs(GOOD[0] + b"null\n") == ([1, 0], len(GOOD[0]) + 5)


@pytest.mark.parametrize("data", [b"", b"\n", b"torn", b" \n\n"])
def test_a_file_may_hold_no_record(data: bytes) -> None:
    assert lines.parse(data, "a.json").records == ()
