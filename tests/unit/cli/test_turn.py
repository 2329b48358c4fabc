"""What one exchange counts, and how a question without an answer is told."""

from __future__ import annotations

import asyncio
import io
import os
import pty
from collections.abc import Mapping
from pathlib import Path

import pytest

from fisk_ai.a2a.messages import (
    Ack,
    DiscoveryRequest,
    ElicitRequestApprove,
    Sender,
    StatusBlockEvent,
    TextBlockEvent,
    ToolCallBlockEvent,
    UsageCounts,
    WarningBlockEvent,
    reply_header,
    request_header,
)
from fisk_ai.cli import run_flags
from fisk_ai.cli.conversation import exit_code
from fisk_ai.cli.resume_command import WayBack
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.turn import Turn, TurnEnd
from fisk_ai.errors import TaskError
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.line import LineView
from fisk_ai.render.questions import TerminalPrompter


@pytest.fixture
def turn() -> Turn:
    view = LineView(io.StringIO(), io.StringIO())
    prompter = TerminalPrompter(Keyboard(io.StringIO()), io.StringIO())
    return Turn(view=view, prompter=prompter)


async def test_calls_of_the_history_are_not_calls_of_the_turn(turn: Turn) -> None:
    call = ToolCallBlockEvent(id="1", name="say")
    for block in (
        StatusBlockEvent(phase="replay_start"),
        call,
        TextBlockEvent(text="old", final=True),
        StatusBlockEvent(phase="replay_end", count=2),
        call,
        StatusBlockEvent(iteration=1, usage=UsageCounts(input_tokens=5)),
        StatusBlockEvent(phase="running"),
        TextBlockEvent(text="new ", final=True),
        TextBlockEvent(text="answer", final=True, index=1),
    ):
        await turn.on_event(block)
    totals = turn.totals(UsageCounts(input_tokens=7, output_tokens=2))
    assert (totals.tool_calls, totals.llm_calls) == (1, 2)
    assert (totals.input, totals.output) == (7, 2)
    turn.view.answer()
    assert isinstance(turn.view.out, io.StringIO)
    assert turn.view.out.getvalue() == "new answer\n"


async def test_the_agents_own_counters_come_first(turn: Turn) -> None:
    totals = turn.totals(UsageCounts(llm_calls=9, tool_calls=4))
    assert (totals.llm_calls, totals.tool_calls) == (9, 4)


async def test_the_token_is_kept_from_the_acknowledgement(turn: Turn) -> None:
    request = DiscoveryRequest(**request_header(Sender(name="t"), "cow"))
    header = reply_header(request, "cow", 1)
    await turn.on_ack(Ack(**header, accepted=True, conversation_token="secret", max_tokens=5))
    assert (turn.token, turn.bound) == ("secret", 5)


async def test_without_a_terminal_a_question_has_no_answer_at_once(turn: Turn) -> None:
    request = DiscoveryRequest(**request_header(Sender(name="t"), "cow"))
    question = ElicitRequestApprove(
        **reply_header(request, "cow", 2), question_id="q", command="wipe", display="wipe"
    )
    assert await turn.on_question(question) is None
    assert isinstance(turn.view.err, io.StringIO)
    assert turn.view.err.getvalue() == ""


class Screen(io.StringIO):
    """What a person at a terminal sees; says when an answer is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asks = asyncio.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if text.startswith("answer"):
            self.asks.set()
        return super().write(text)


async def test_the_refusal_of_a_question_that_was_left_is_told_once() -> None:
    leader, follower = pty.openpty()
    screen = Screen()
    with os.fdopen(follower, encoding="utf-8") as stdin:
        prompter = TerminalPrompter(Keyboard(stdin), screen)
        turn = Turn(view=LineView(io.StringIO(), screen), prompter=prompter)
        request = DiscoveryRequest(**request_header(Sender(name="t"), "cow"))
        question = ElicitRequestApprove(
            **reply_header(request, "cow", 2), question_id="q", command="wipe", display="wipe"
        )
        asking = asyncio.ensure_future(turn.on_question(question))
        await screen.asks.wait()
        assert prompter.abort()
        assert await asking is None
    os.close(leader)
    denied = WarningBlockEvent(kind="confirm_denied", name="wipe", error="nobody decided")
    await turn.on_event(WarningBlockEvent(kind="unknown_tool", name="fly"))
    await turn.on_event(denied)
    assert "no decision: the command does not run now" in screen.getvalue()
    assert "fly" in screen.getvalue()
    assert "nobody decided" not in screen.getvalue()
    await turn.on_event(denied)
    assert '"wipe" was not run: nobody decided' in screen.getvalue()


async def test_missing_messages_are_said(turn: Turn) -> None:
    await turn.on_gap(2)
    assert isinstance(turn.view.err, io.StringIO)
    said = turn.view.err.getvalue()
    assert said.endswith("2 messages of the run never arrived; what is shown is incomplete\n")


async def test_where_messages_are_missing_the_command_that_shows_all_of_them_is_named(
    turn: Turn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    turn.whole = WayBack(flags=RunFlags(prompt="x"), rooted=True).transcript
    turn.token = "t-1"
    await turn.following().on_gap(1)
    assert isinstance(turn.view.err, io.StringIO)
    assert turn.view.err.getvalue().endswith(
        "; what is shown is incomplete; all of it: "
        f"fisk-ai session show t-1 --transcript --config {tmp_path}/agent.yaml\n"
    )


def test_the_exit_code_never_says_success_for_a_failure() -> None:
    assert exit_code(TurnEnd()) == 0
    assert exit_code(TurnEnd(code="suspended", detail="parked")) == 0
    for code in ("failed", "crashed", "incomplete", "of_tomorrow"):
        with pytest.raises(TaskError) as failed:
            exit_code(TurnEnd(code=code, detail="why"))
        assert failed.value.task_code == code


def test_the_hint_works_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    plain = WayBack(flags=RunFlags(prompt="x"), rooted=False)
    assert plain.resume("t-1") == (
        f"cd {here} && fisk-ai run --resume t-1 --config {here}/agent.yaml"
    )
    assert plain.answer("t-1").startswith(f"cd {here} && fisk-ai session answer t-1 ")
    typed = RunFlags(
        prompt="x", config="a b.yaml", script="../s.yaml", state_dir="d", root_dir="/r"
    )
    assert WayBack(flags=typed, rooted=True).resume("t-1") == (
        f"fisk-ai run --resume t-1 --config '{here}/a b.yaml' --script {tmp_path.parent}/s.yaml "
        f"--state-dir {here}/d --root-dir /r"
    )


def test_the_hint_goes_to_the_model_that_was_typed_and_shows_no_secret(tmp_path: Path) -> None:
    config, key_file = str(tmp_path / "agent.yaml"), str(tmp_path / "key")

    def hint(*words: str, environ: Mapping[str, str]) -> str:
        flags = run_flags.parse(["--config", config, *words, "x"], environ)
        return WayBack(flags=flags, rooted=True).resume("t-1")

    address = "http://127.0.0.1:11434/v1"
    exported = {"ANTHROPIC_BASE_URL": address}
    assert hint(environ=exported) == f"fisk-ai run --resume t-1 --config {config}"
    assert hint("--base-url", address, "--api-key-file", key_file, environ={}) == (
        f"fisk-ai run --resume t-1 --base-url {address} --config {config} --api-key-file {key_file}"
    )
    assert "hidden" not in hint("--api-key", "hidden", environ={})


@pytest.mark.parametrize(
    ("typed", "needs"),
    [
        (["--api-key", "hidden"], "with the key that was typed: set it again"),
        (["--api-key", "hidden", "--script", "s.yaml"], ""),
        ([], ""),
    ],
)
def test_a_typed_key_is_asked_for_beside_the_hint(typed: list[str], needs: str) -> None:
    flags = run_flags.parse([*typed, "x"], {})
    assert WayBack(flags=flags, rooted=True).needs == needs
