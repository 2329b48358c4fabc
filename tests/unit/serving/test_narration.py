"""What a served run leaves in the log, and what it must not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from fisk_ai.agent.events import (
    DiscardEvents,
    LlmRequestEvent,
    Starting,
    ToolCallEvent,
    ToolResultEvent,
)
from fisk_ai.llm.model import Delta, Response
from fisk_ai.serving.narration import Narration, first_line
from fisk_ai.toolkit.contract import Advisory

SECRET = "hunter2"


class Told(DiscardEvents):
    """Keeps the names of what it was told."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def warn(self, advisory: Advisory) -> None:
        self.names.append("warn")

    async def starting(self, info: Starting) -> None:
        self.names.append("starting")

    async def llm_request(self, event: LlmRequestEvent) -> None:
        self.names.append("llm_request")

    async def delta(self, delta: Delta) -> None:
        self.names.append("delta")

    def wants_deltas(self) -> bool:
        return True

    async def message(self, response: Response, *, terminal: bool) -> None:
        self.names.append(f"message terminal={terminal}")

    async def tool_call(self, event: ToolCallEvent) -> None:
        self.names.append("tool_call")

    async def tool_result(self, event: ToolResultEvent) -> None:
        self.names.append("tool_result")

    async def session_rotated(self, previous: str) -> None:
        self.names.append(f"session_rotated {previous}")

    async def panicked(self, error: BaseException, stack: str) -> None:
        self.names.append("panicked")


def _call() -> ToolCallEvent:
    return ToolCallEvent(
        id="toolu_1",
        name="user_add",
        display=f"user add --password {SECRET}",
        display_short="user add",
        input=b'{"password": "hunter2"}',
        present="command",
        kind="application",
    )


def _result(output: str, *, is_error: bool) -> ToolResultEvent:
    return ToolResultEvent(
        call_id="toolu_1", present="command", kind="application", output=output, is_error=is_error
    )


async def test_a_call_is_logged_by_its_short_display_and_never_with_its_arguments() -> None:
    with capture_logs() as lines:
        await Narration(Told(), "w1").tool_call(_call())

    assert lines == [
        {
            "event": "tool call",
            "log_level": "info",
            "work": "w1",
            "tool": "user_add",
            "call": "user add",
        }
    ]


async def test_a_request_is_logged_by_its_size_and_never_by_its_words() -> None:
    request = LlmRequestEvent(preview=f'"my password is {SECRET}"', messages=3, size_bytes=412)
    with capture_logs() as lines:
        await Narration(Told(), "w1").llm_request(request)

    assert lines == [
        {
            "event": "model call",
            "log_level": "debug",
            "work": "w1",
            "messages": 3,
            "size_bytes": 412,
        }
    ]


async def test_a_successful_result_leaves_no_line_and_a_failed_one_its_first() -> None:
    narration = Narration(Told(), "w1")
    with capture_logs() as lines:
        await narration.tool_result(_result("the whole report", is_error=False))
        await narration.tool_result(_result("\n\nno such user\ndetails", is_error=True))

    assert [line["said"] for line in lines if "said" in line] == ["no such user"]


@pytest.mark.parametrize(("size", "truncated"), [(2048, None), (2049, True)])
async def test_a_failed_output_is_capped_for_debugging_and_says_so(
    *, size: int, truncated: bool | None
) -> None:
    with capture_logs() as lines:
        await Narration(Told(), "w1").tool_result(_result("x" * size, is_error=True))

    (kept,) = (line for line in lines if line["log_level"] == "debug")
    assert (kept["output"], kept.get("truncated")) == ("x" * 2048, truncated)


async def test_advisories_are_logged_always() -> None:
    with capture_logs() as lines:
        await Narration(DiscardEvents(), "w1").warn(
            Advisory(kind="tool_timeout", name="slow", error="did not finish within 5m0s")
        )

    assert lines[0]["kind"] == "tool_timeout"
    assert lines[0]["name"] == "slow"


async def test_a_crash_leaves_its_stack_in_the_log_only() -> None:
    told = Told()
    with capture_logs() as lines:
        await Narration(told, "w1").panicked(ZeroDivisionError("x"), "the stack")

    assert lines[0]["stack"] == "the stack"
    assert told.names == ["panicked"]


async def test_everything_reaches_the_channel_in_order() -> None:
    told = Told()
    narration = Narration(told, "w1")

    await narration.llm_request(LlmRequestEvent(preview="p", messages=1, size_bytes=9))
    await narration.tool_call(_call())
    await narration.tool_result(_result("out", is_error=True))
    await narration.warn(Advisory(kind="x"))
    await narration.session_rotated("s1")

    assert narration.wants_deltas()
    assert told.names == ["llm_request", "tool_call", "tool_result", "warn", "session_rotated s1"]


@given(output=st.text())
def test_the_first_line_is_one_short_clean_line(output: str) -> None:
    line = first_line(output)

    assert len(line.encode(errors="replace")) <= 200 + len("...")
    assert "\n" not in line
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("a\nb", "a"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "..."),
    ],
)
def test_a_long_first_line_is_cut_with_a_mark(output: str, line: str) -> None:
    assert first_line(output) == line
