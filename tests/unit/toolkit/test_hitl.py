"""Questions that a model puts to a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import DeferredError, FiskError, PromptAbortedError, ToolError
from fisk_ai.testing.events import Scripted, ScriptedPrompter
from fisk_ai.toolkit.builtin.hitl import TOOLS, Kind, LateAnswer, late_answer
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.functool import FunctionTool
from fisk_ai.toolkit.prompter import NO_OPERATOR_REASON, Prompter

CONFIRM, SELECT, INPUT = TOOLS
TWO = {"question": "Which?", "options": ["red", "blue"]}


async def ask(tool: FunctionTool, arguments: object, prompter: Prompter) -> str:
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    context = CallContext(tool_use_id="t1")
    return (await tool.execute(context, raw, ExecDeps(prompter=prompter))).output


async def answered(tool: FunctionTool, arguments: object, answer: Scripted) -> str:
    return await ask(tool, arguments, ScriptedPrompter([answer]))


class Keeping(ScriptedPrompter):
    """Keeps the whole of every question."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, ...]] = []

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        self.asked.append((tool_use_id, question))
        return True

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        self.asked.append((tool_use_id, question, *options))
        return 0

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        self.asked.append((tool_use_id, question, default))
        return ""


def test_the_tools_are_built_in_served_nowhere_and_wait_for_a_person() -> None:
    assert [tool.name for tool in TOOLS] == [
        "ask_human_confirm",
        "ask_human_select",
        "ask_human_input",
    ]
    for tool in TOOLS:
        info = tool.describe(b"{}")
        assert (info.kind, info.present, info.operator_paced) == ("builtin", "self_rendered", True)
        assert (tool.mcp_exposable, tool.a2a_exposable) == (False, False)
        assert not tool.definition(defer_loading=True).defer_loading
        assert "additionalProperties" not in tool.input_schema()
        assert not tool.needs_confirm(["ai:destructive"])


def test_schemas_name_what_is_required() -> None:
    assert CONFIRM.input_schema()["required"] == ["question"]
    assert SELECT.input_schema()["required"] == ["question", "options"]
    assert INPUT.input_schema()["required"] == ["question"]
    options = json.loads(json.dumps(SELECT.input_schema()))["properties"]["options"]
    assert options["items"] == {"type": "string"}
    assert not {"minItems", "maxItems"} & options.keys()
    assert "1 to 25" in options["description"]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "result"),
    [
        (CONFIRM, {"question": "Go?"}, True, '{"confirmed":true}'),
        (CONFIRM, {"question": "Go?"}, False, '{"confirmed":false}'),
        (SELECT, TWO, 1, '{"selected":"blue"}'),
        (INPUT, {"question": "Who?"}, " \x1b[1mMe\n", '{"value":" \\u001b[1mMe\\n"}'),
        (INPUT, {"question": "Who?", "default": None}, "", '{"value":""}'),
    ],
)
async def test_an_answer_carries_no_reason_and_a_text_is_kept_as_typed(
    tool: FunctionTool, arguments: object, answer: Scripted, result: str
) -> None:
    assert await answered(tool, arguments, answer) == result


@pytest.mark.parametrize("index", [-1, 2, 99])
async def test_no_option_chosen_is_null_with_a_reason(index: int) -> None:
    result = json.loads(await answered(SELECT, TWO, index))
    assert result["selected"] is None
    assert "none of the options" in result["reason"]


@pytest.mark.parametrize(
    ("tool", "negative", "member"),
    [
        (CONFIRM, False, "confirmed"),
        (SELECT, None, "selected"),
        (INPUT, None, "value"),
    ],
)
async def test_nobody_to_ask_and_a_failed_question_are_negative_with_a_reason(
    tool: FunctionTool, negative: object, member: str
) -> None:
    absent = json.loads(await ask(tool, TWO, ScriptedPrompter(present=False)))
    assert absent == {member: negative, "reason": NO_OPERATOR_REASON}
    failed = json.loads(await answered(tool, TWO, FiskError("line \x1b[31mdown\x1b[0m")))
    assert failed[member] == negative
    assert failed["reason"].startswith("the operator did not ")
    assert failed["reason"].endswith(": line down")


@pytest.mark.parametrize("tool", TOOLS)
async def test_an_interruption_and_a_later_answer_pass_through(tool: FunctionTool) -> None:
    with pytest.raises(PromptAbortedError):
        await answered(tool, TWO, PromptAbortedError("^C"))
    with pytest.raises(DeferredError):
        await answered(tool, TWO, DeferredError("asked on paper"))
    wrapped = RuntimeError("lost")
    wrapped.__cause__ = DeferredError("asked on paper")
    with pytest.raises(DeferredError, match="on paper"):
        await answered(tool, TWO, wrapped)


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        (CONFIRM, b"", "question is empty"),
        (CONFIRM, {"question": " \x1b[31m\n"}, "question is empty"),
        (CONFIRM, {"question": 1}, "Expected `str | null`, got `int`"),
        (INPUT, b"null", "question is empty"),
        (INPUT, b"[1]", "Expected `object`"),
        (INPUT, b"{", "invalid ask_human_input input"),
        (SELECT, {"question": "?", "options": []}, "1 to 25 options, got 0"),
        (SELECT, {"question": "?"}, "1 to 25 options, got 0"),
        (SELECT, {"question": "?", "options": ["x"] * 26}, "1 to 25 options, got 26"),
        (SELECT, {"question": "", "options": []}, "question is empty"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_an_error_even_with_nobody_there(
    tool: FunctionTool, arguments: object, reason: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await ask(tool, arguments, ScriptedPrompter(present=False))
    assert str(caught.value).startswith(f"invalid {tool.name} input: ")
    assert reason in str(caught.value)


@given(
    tool=st.sampled_from(TOOLS),
    arguments=st.fixed_dictionaries(
        {"question": st.text() | st.none() | st.integers()},
        optional={"options": st.lists(st.text(), max_size=30), "default": st.text() | st.none()},
    ),
)
def test_whatever_is_asked_a_person_sees_short_printable_lines(
    tool: FunctionTool, arguments: dict[str, object]
) -> None:
    prompter = Keeping()
    try:
        output = asyncio.run(ask(tool, arguments, prompter))
    except ToolError:
        assert prompter.asked == []
        return
    assert len(json.loads(output)) == 1
    ((_, *texts),) = prompter.asked
    assert texts[0]
    for text in texts:
        assert len(text) <= 501
        assert not {"\n", "\x1b", "\u202e", "\x9b"} & set(text)


async def test_a_person_reads_cleaned_and_cut_texts_under_the_calls_id() -> None:
    prompter = Keeping()
    await ask(CONFIRM, {"question": "a\x1b[31m\nb\u202e"}, prompter)
    options = ["\x1b[1m", "o" * 501, "\ud83d"]
    chosen = await ask(SELECT, {"question": "q" * 501, "options": options}, prompter)
    await ask(INPUT, {"question": "?", "default": "d\td"}, prompter)
    assert prompter.asked == [
        ("t1", "a b"),
        ("t1", "q" * 500 + "…", "", "o" * 500 + "…", "\ufffd"),
        ("t1", "?", "d d"),
    ]
    assert chosen == '{"selected":""}'


async def test_a_run_that_was_told_to_stop_asks_nobody() -> None:
    prompter = Keeping()

    async def stopped() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            return await ask(CONFIRM, {"question": "?"}, prompter)
        finally:
            task.uncancel()

    with pytest.raises(PromptAbortedError):
        await stopped()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    assert prompter.asked == []


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "late"),
    [
        (CONFIRM, {"question": "?"}, True, late_answer("confirm", confirmed=True)),
        (CONFIRM, {"question": "?"}, False, late_answer("confirm")),
        (SELECT, TWO, 1, late_answer("select", value="blue")),
        (SELECT, TWO, -1, late_answer("select")),
        (INPUT, {"question": "?"}, "", late_answer("input", value="")),
        (INPUT, {"question": "?"}, "é<", late_answer("input", value="é<")),
    ],
)
async def test_a_late_answer_is_what_the_tool_itself_would_have_returned(
    tool: FunctionTool, arguments: object, answer: Scripted, late: LateAnswer
) -> None:
    output = await answered(tool, arguments, answer)
    assert late == LateAnswer(tool_name=tool.name, content=output)


@pytest.mark.parametrize(
    ("kind", "member", "negative"),
    [("confirm", "confirmed", False), ("select", "selected", None), ("input", "value", None)],
)
def test_a_caller_without_an_operator_is_a_reason_whatever_else_it_sent(
    kind: Kind, member: str, negative: object
) -> None:
    late = late_answer(kind, confirmed=True, value="x", no_operator=True)
    assert late.tool_name == f"ask_human_{kind}"
    assert json.loads(late.content) == {
        member: negative,
        "reason": "the caller has no operator to answer on its behalf",
    }


def test_reached_without_an_answer_is_null_with_a_reason() -> None:
    assert json.loads(late_answer("input").content)["value"] is None
    assert json.loads(late_answer("input").content)["reason"]
