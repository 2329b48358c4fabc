"""What goes to standard output and what does not."""

from __future__ import annotations

import io

import pytest
from msgspec import Raw

from fisk_ai.a2a import events
from fisk_ai.render.events import show
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.markdown import STYLED_LIMIT, styled


@pytest.fixture
def view() -> LineView:
    return LineView(io.StringIO(), io.StringIO(), LineOptions(lead="warning from agent cow"))


def _out(view: LineView) -> str:
    assert isinstance(view.out, io.StringIO)
    return view.out.getvalue()


def _err(view: LineView) -> str:
    assert isinstance(view.err, io.StringIO)
    return view.err.getvalue()


def test_the_answer_alone_goes_to_standard_output(view: LineView) -> None:
    show(view, events.ThinkingBlockEvent(text="hm"))
    show(view, events.TextBlockEvent(text="Let me see."))
    show(view, events.ToolCallBlockEvent(id="1", name="say", input=Raw(b'{"m":"Moo"}')))
    show(view, events.ToolResultBlockEvent(call_id="1", output="Moo"))
    show(view, events.TextBlockEvent(text="It says Moo.", final=True))
    view.answer()
    assert _out(view) == "It says Moo.\n"
    assert _err(view) == 'Let me see.\n-> say(m:"Moo")\n'


def test_the_terminal_text_replaces_trimmed_blocks_and_is_printed_once(view: LineView) -> None:
    show(view, events.TextBlockEvent(text="lon[trimmed]", final=True, trimmed=True))
    view.answer("long text")
    view.answer()
    assert _out(view) == "long text\n"


def test_an_empty_answer_prints_nothing(view: LineView) -> None:
    view.answer("")
    assert _out(view) == ""


def test_reasoning_and_results_are_shown_on_request() -> None:
    options = LineOptions(show_thinking=True, show_results=True)
    view = LineView(io.StringIO(), io.StringIO(), options)
    show(view, events.ThinkingBlockEvent(text="hm"))
    show(view, events.ToolResultBlockEvent(call_id="1", output="no", is_error=True))
    assert _err(view) == "\n[thinking]\nhm\n<-\n(error) no\n"


def test_replayed_answers_are_history_and_stay_off_standard_output(view: LineView) -> None:
    show(view, events.StatusBlockEvent(phase="replay_start"))
    show(view, events.PromptBlockEvent(text="say moo"))
    show(view, events.TextBlockEvent(text="Moo.", final=True))
    show(view, events.StatusBlockEvent(phase="replay_end", count=2, truncated=True))
    view.answer()
    assert _out(view) == ""
    assert _err(view) == (
        "\n--- resuming ---\n\n> say moo\nMoo.\n"
        "\n(showing the last 2 of a longer conversation)\n\n--- continuing ---\n"
    )


def test_warnings_carry_the_agent_and_unknown_blocks_show_nothing(view: LineView) -> None:
    show(view, events.WarningBlockEvent(kind="unknown_tool", name="ghost"))
    show(view, events.UnknownBlockEvent(kind="hologram", raw=b"{}"))
    show(view, events.StatusBlockEvent(phase="running"))
    show(view, events.TextDeltaBlockEvent(index=0, text="Mo"))
    show(view, events.AgentCallBlockEvent(id="1", name="peer", task="count"))
    assert _err(view) == (
        'warning from agent cow: the model called "ghost", which is not one of its tools\n'
        "-> peer (count)\n"
    )


def test_hostile_text_reaches_no_terminal(view: LineView) -> None:
    hostile = "a\x1b[2Jb\u202ec\x00d\ud83de"
    show(view, events.TextBlockEvent(text=hostile))
    show(view, events.TextBlockEvent(text=hostile, final=True))
    view.answer()
    for text in (_out(view), _err(view)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\x00" not in text
        text.encode()


def test_markdown_is_styled_without_hyperlinks_or_surrounding_blank_lines() -> None:
    text = styled("\n# Title\n\n*bold* [link](https://example.org)\n\n", width=40)
    assert "\x1b[" in text
    assert "\x1b]8" not in text
    assert not text.startswith("\n")
    assert not text.endswith("\n")


def test_markdown_that_is_too_long_or_too_deep_stays_raw() -> None:
    long = "x" * (STYLED_LIMIT + 1)
    assert styled(long, width=80) == long
    deep = "[" * 20_000
    assert "[[[" in styled(deep, width=80)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (None, "-> wipe(all:true) (no result yet)"),
        (("wiped", False), "-> wipe(all:true)"),
        (("no luck", True), "-> wipe(all:true) (error)"),
        (('{"allowed":false,"reason":"declined"}', False), "-> wipe(all:true) (refused)"),
        (('{"allowed":false,"reason":"outcome unknown"}', True), "-> wipe(all:true) (refused)"),
        (('{"allowed":false', False), "-> wipe(all:true)"),
    ],
)
def test_a_replayed_call_says_what_became_of_it(
    view: LineView, result: tuple[str, bool] | None, line: str
) -> None:
    call = events.ToolCallBlockEvent(id="1", name="wipe", input=Raw(b'{"all":true}'))
    show(view, events.StatusBlockEvent(phase="replay_start"))
    show(view, call)
    if result is not None:
        show(view, events.ToolResultBlockEvent(call_id="1", output=result[0], is_error=result[1]))
    show(view, events.StatusBlockEvent(phase="replay_end", count=1))
    show(view, call)
    assert _err(view) == (f"\n--- resuming ---\n{line}\n\n--- continuing ---\n-> wipe(all:true)\n")


def test_replayed_calls_keep_their_order_whatever_follows(view: LineView) -> None:
    show(view, events.StatusBlockEvent(phase="replay_start"))
    show(view, events.ToolCallBlockEvent(id="1", name="a", input=Raw(b"{}")))
    show(view, events.ToolCallBlockEvent(id="2", name="b", input=Raw(b"{}")))
    show(view, events.ToolResultBlockEvent(call_id="2", output="ok"))
    show(view, events.ToolCallBlockEvent(id="3", name="c", input=Raw(b"{}")))
    show(view, events.TextBlockEvent(text="said"))
    assert _err(view).splitlines()[2:] == [
        "-> a() (no result yet)",
        "-> b()",
        "-> c() (no result yet)",
        "said",
    ]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("term", "no_color", "is_styled"),
    [("xterm", False, True), ("dumb", False, False), ("xterm", True, False)],
)
def test_styles_go_to_terminals_that_know_them_and_readers_who_want_them(
    monkeypatch: pytest.MonkeyPatch, *, term: str, no_color: bool, is_styled: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    out = Tty()
    LineView(out, io.StringIO(), LineOptions(no_color=no_color)).answer("**Moo**")
    assert ("\x1b" in out.getvalue()) == is_styled
    assert ("**" in out.getvalue()) != is_styled


def test_an_answer_that_never_came_to_its_end_is_no_part_of_the_next(view: LineView) -> None:
    view.text("half of", final=True)
    view.forget()
    view.text("Whole.", final=True)
    view.answer()
    assert _out(view) == "Whole.\n"


def test_a_warning_about_the_agent_itself_is_told_once(view: LineView) -> None:
    unsearched = events.WarningBlockEvent(kind="tool_search_unsupported", count=12)
    unmatched = events.WarningBlockEvent(kind="confirm_tag_unmatched", name="danger")
    for _ in range(3):
        show(view, unsearched)
        show(view, unmatched)
    assert _err(view).count("12 tools are sent with every request") == 1
    assert _err(view).count("danger") == 1


def test_what_is_new_of_the_agent_is_told(view: LineView) -> None:
    for count in (12, 13):
        show(view, events.WarningBlockEvent(kind="tool_search_unsupported", count=count))
    assert len(_err(view).splitlines()) == 2


@pytest.mark.parametrize("kind", ["confirm_denied", "tool_timeout", "memory_index", "new_kind"])
def test_a_warning_about_what_happened_is_told_each_time(view: LineView, kind: str) -> None:
    for _ in range(2):
        show(view, events.WarningBlockEvent(kind=kind, name="wipe", error="why"))
    assert len(_err(view).splitlines()) == 2
