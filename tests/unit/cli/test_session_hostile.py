"""Whatever a journal holds, no verb lets it act on a terminal, crash or look like another row."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fisk_ai.cli.main import main
from fisk_ai.llm.model import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.records import Assistant, Decision, Deferred, Terminal, ToolResult
from fisk_ai.testing.session_records import meta, write_file
from fisk_ai.text import gojson

_nasty = st.text(
    st.sampled_from("\x1b[]m31;\x07\x9b\x00\r\n\t\u202e\u2066\u2028\x7f\\\"'{}│é\ud800 ab"),
    max_size=12,
)

READING = (
    ["ls"],
    ["show", "one"],
    ["show", "one", "--transcript", "--thinking"],
    ["stats", "one"],
    ["stats", "one", "--json"],
    ["query", "one"],
    ["query", "one", "--json"],
    ["search", "--identity", "x", "--caller", "y"],
    ["search", "--json"],
    ["pending"],
    ["pending", "--json"],
)


def _write(directory: Path, text: str) -> None:
    arguments = gojson.dumps({text: text, "question": text, "options": [text]})
    uses = (
        ToolUseBlock(f"a{text}", text, arguments),
        ToolUseBlock(f"b{text}", "ask_human_select", arguments),
        ToolUseBlock(f"c{text}", text, arguments),
    )
    reply = Assistant(
        iteration=0,
        message=Message("assistant", (ThinkingBlock(text, b""), TextBlock(text), *uses)),
        in_tokens=1,
        out_tokens=1,
    )
    opening = replace(meta(text), agent=text, caller=text, conversation_token=text, request=text)
    answered = ToolResult(
        tool_use_id=uses[0].id, result=ToolResultBlock(uses[0].id, text, is_error=True)
    )
    deferred = Deferred(
        tool_use_id=uses[1].id, tool_name="ask_human_select", note=text, handle=text
    )
    ended = Terminal(reason="suspended", message=text)
    write_file(
        directory, "one", reply, answered, deferred, Decision(tool=text), ended, opening=opening
    )


def _printed(directory: str, words: list[str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["session", words[0], "--state-dir", directory, *words[1:]])
    assert status == 0, err.getvalue()
    return out.getvalue() + err.getvalue()


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in "\n\t"


@given(_nasty)
@settings(max_examples=30, deadline=None)
def test_no_text_of_a_journal_reaches_the_terminal_as_a_command(text: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        _write(Path(directory), text)
        for words in READING:
            printed = _printed(directory, words)
            assert not [character for character in printed if _acts(character)], words


@pytest.mark.parametrize("words", [["ls"], ["pending"], ["search"]])
def test_a_line_break_in_a_journal_makes_no_second_row(tmp_path: Path, words: list[str]) -> None:
    _write(tmp_path, "a\n│ forged │\r\u2028x")
    rows = _printed(str(tmp_path), words).splitlines()[3:-1]
    assert rows
    assert all(row.startswith("│ one ") for row in rows)
