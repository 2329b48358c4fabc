"""``fisk-ai session show --transcript`` prints a whole conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a.messages import (
    EventBlock,
    PromptBlockEvent,
    TextBlockEvent,
    ThinkingBlockEvent,
    ToolCallBlockEvent,
)
from fisk_ai.a2a.replay import REPLAY_LIMIT, replay
from fisk_ai.cli.main import main
from fisk_ai.cli.session_transcript import Part, Prompt, Prose, parts
from fisk_ai.llm.model import (
    Block,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Assistant, Payload, ToolResult
from fisk_ai.testing.session_records import (
    assistant,
    journal,
    meta,
    result,
    terminal,
    user,
    write_file,
)

HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202e\x9b2J"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    thought = Assistant(
        iteration=0,
        message=Message(
            "assistant",
            (
                ThinkingBlock(f"hm {HOSTILE}", b"sig"),
                TextBlock("Looking."),
                ToolUseBlock("c1", "say", b'{"message":"Moo"}'),
                ToolUseBlock("c2", "say", b'{"message":"Baa"}'),
            ),
        ),
        stop_reason="tool_use",
        in_tokens=1,
        out_tokens=1,
    )
    write_file(
        tmp_path,
        "one",
        thought,
        result("c2", "second"),
        result("c1", f"first {HOSTILE}"),
        assistant(say=f"Done. {HOSTILE}", iteration=1),
        terminal(),
        user("and then?"),
        assistant("c3", iteration=2),
        opening=meta(f"start\n{HOSTILE}"),
    )
    return tmp_path


def _transcript(store: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> list[str]:
    assert main(["session", "show", "one", "--state-dir", str(store), "--transcript", *flags]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert not any(character in printed.out for character in "\x1b\x07\u202e\x9b")
    _, _, transcript = printed.out.partition("\n\n--- transcript ---\n")
    return transcript.splitlines()


def test_a_transcript_is_the_whole_conversation_with_each_result_behind_its_call(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _transcript(store, capsys) == [
        "",
        "> start",
        "red 2J",
        "",
        "Looking.",
        '-> say(message:"Moo")',
        "<-",
        "first red 2J",
        '-> say(message:"Baa")',
        "<-",
        "second",
        "",
        "--- answer ---",
        "Done. red 2J",
        "",
        "> and then?",
        '-> say(message:"Moo") (no result yet)',
    ]


def test_reasoning_is_shown_to_whoever_asks_for_it(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _transcript(store, capsys, "--thinking")
    assert shown[3:6] == ["", "[thinking]", "hm red 2J"]
    monkeypatch.setenv("THINKING", "1")
    assert _transcript(store, capsys) == shown


def test_no_tui_leaves_out_what_tools_gave_back(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _transcript(store, capsys, "--no-tui")
    assert "<-" not in shown
    assert '-> say(message:"Moo")' in shown
    monkeypatch.setenv("NO_TUI", "1")
    assert _transcript(store, capsys) == shown


def test_a_long_text_is_not_cut_as_on_the_wire(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "x" * 400_000
    write_file(tmp_path, "one", assistant(say=long), terminal())
    assert long in _transcript(tmp_path, capsys)


_text = st.sampled_from(["", "a", "b"])
_call = st.sampled_from(["c1", "c2", "c3"])
_block: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, _text),
    st.builds(ThinkingBlock, _text, st.just(b"")),
    st.builds(ToolUseBlock, _call, st.just("say"), st.just(b"{}")),
)


@st.composite
def _payloads(draw: st.DrawFn) -> list[Payload]:
    drawn: list[Payload] = []
    for turn in range(draw(st.integers(0, 4))):
        content = tuple(draw(st.lists(_block, max_size=4)))
        drawn.append(
            Assistant(
                iteration=turn,
                message=Message("assistant", content),
                in_tokens=0,
                out_tokens=0,
            )
        )
        for call in draw(st.lists(_call, max_size=3)):
            drawn.append(ToolResult(tool_use_id=call, result=ToolResultBlock(call, "out")))  # noqa: PERF401 - drawn in order
        if draw(st.booleans()):
            drawn.append(user(draw(_text)))
    return drawn


def _kind(part: Part) -> tuple[object, ...]:
    match part:
        case Prompt(text):
            return ("prompt", text)
        case Prose(text, is_answer):
            return ("text", text, is_answer)
        case ThinkingBlock(text):
            return ("thinking", text)
        case ToolUseBlock(call):
            return ("call", call)
        case ToolResultBlock():
            return ("result",)


def _kind_of(block: EventBlock) -> tuple[object, ...]:
    match block:
        case PromptBlockEvent(text=text):
            return ("prompt", text)
        case TextBlockEvent(text=text, final=final):
            return ("text", text, final)
        case ThinkingBlockEvent(text=text):
            return ("thinking", text)
        case ToolCallBlockEvent(id=call):
            return ("call", call)
        case _:
            return ("result",)


@given(_payloads())
def test_a_transcript_has_the_order_of_a_replay(payloads: list[Payload]) -> None:
    state = fold(journal(*payloads))
    sent = replay(state.messages, state.pending, REPLAY_LIMIT)
    assert [_kind(part) for part in parts(state.messages, state.pending)] == [
        _kind_of(block) for block in sent.blocks
    ]
