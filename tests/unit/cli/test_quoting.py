"""Commands that are printed to be typed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.cli.quoting import command_line

_NAMES = st.binary(max_size=20).filter(lambda name: b"\0" not in name).map(os.fsdecode)


@given(st.lists(_NAMES, max_size=3))
def test_whatever_a_path_holds_the_line_is_plain_text_for_a_terminal(names: list[str]) -> None:
    line = command_line(names)
    assert line.isprintable()
    line.encode()


def test_a_shell_reads_back_what_was_quoted() -> None:
    names = ["plain", "two words", "it's", "gr\u00fc\u00dfe", os.fsdecode(b"\xff'\n\x1b[2J 4"), ""]
    line = command_line(["printf", "%s\\n", *names])
    done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, check=True)
    assert done.stdout == b"".join(os.fsencode(name) + b"\n" for name in names)


def test_a_line_for_here_goes_to_where_we_are_whatever_its_name_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "two words; it's \x1b[2J"
    place.mkdir()
    monkeypatch.chdir(place)
    line = command_line(["pwd", "-P"], here=True)
    assert line.isprintable()
    done = subprocess.run(["/bin/bash", "-c", line], cwd="/", capture_output=True, check=True)
    assert done.stdout == os.fsencode(place.resolve()) + b"\n"
