"""Questions that a model puts to a person: yes or no, one of several, a text.

A plain answer carries no reason; a reason says that nobody answered, which is a fact about the run
and no refusal. Nothing here is served beyond the loop. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from fisk_ai.errors import PromptAbortedError, ToolError
from fisk_ai.text import gojson, sanitise
from fisk_ai.toolkit.builtin.factory import builtin_tool
from fisk_ai.toolkit.functool import Exposure, FunctionContext, FunctionSpec, FunctionTool, Handler
from fisk_ai.toolkit.gate import Unanswered, attempt
from fisk_ai.toolkit.inputs import decode
from fisk_ai.toolkit.prompter import NO_OPERATOR_REASON

CONFIRM = "ask_human_confirm"
SELECT = "ask_human_select"
INPUT = "ask_human_input"

TEXT_LIMIT = 500
"""Code points of a question, an option or a default: more is not read in a prompt."""

OPTION_LIMIT = 25
"""Options of one question: what a person can choose from at a glance."""

CALLER_HAS_NO_OPERATOR = "the caller has no operator to answer on its behalf"
NO_CHOICE = "the operator was asked and chose none of the options"
NO_VALUE = "the operator was asked and gave no answer"

Kind = Literal["confirm", "select", "input"]


class _Question(msgspec.Struct, kw_only=True):
    question: str | None = None
    options: tuple[str, ...] | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LateAnswer:
    """What a tool would have returned, for an answer that came after its run ended."""

    tool_name: str
    content: str


def late_answer(
    kind: Kind,
    *,
    confirmed: bool = False,
    value: str | None = None,
    no_operator: bool = False,
) -> LateAnswer:
    """Write an answer down as the tool that asked would have.

    ``value`` is the text of an input or of the option chosen; without one the person was reached
    and gave none. ``no_operator`` says that the caller could ask nobody.
    """
    reason = CALLER_HAS_NO_OPERATOR if no_operator else ""
    match kind:
        case "confirm":
            return LateAnswer(tool_name=CONFIRM, content=_confirmed(reason, said=confirmed))
        case "select":
            return LateAnswer(tool_name=SELECT, content=_late("selected", value, reason, NO_CHOICE))
        case "input":
            return LateAnswer(tool_name=INPUT, content=_late("value", value, reason, NO_VALUE))


def _late(member: str, value: str | None, reason: str, without: str) -> str:
    if reason:
        return _valued(member, None, reason)
    return _valued(member, value, "" if value is not None else without)


async def _ask_confirm(raw: bytes, context: FunctionContext) -> str:
    question = _text_of(CONFIRM, decode(CONFIRM, raw, _Question))
    unreachable = _unreachable(context)
    if unreachable:
        return _confirmed(unreachable)
    said = await attempt(context.prompter.confirm(context.tool_use_id, question))
    if isinstance(said, Unanswered):
        return _confirmed(f"the operator did not confirm: {said.cause}")
    return _confirmed("", said=said)


async def _ask_select(raw: bytes, context: FunctionContext) -> str:
    asked = decode(SELECT, raw, _Question)
    question, options = _text_of(SELECT, asked), _options_of(asked)
    unreachable = _unreachable(context)
    if unreachable:
        return _valued("selected", None, unreachable)
    index = await attempt(context.prompter.select(context.tool_use_id, question, options))
    if isinstance(index, Unanswered):
        return _valued("selected", None, f"the operator did not choose: {index.cause}")
    if not 0 <= index < len(options):
        return _valued("selected", None, NO_CHOICE)
    return _valued("selected", options[index], "")


async def _ask_input(raw: bytes, context: FunctionContext) -> str:
    asked = decode(INPUT, raw, _Question)
    question, default = _text_of(INPUT, asked), _clean(asked.default or "")
    unreachable = _unreachable(context)
    if unreachable:
        return _valued("value", None, unreachable)
    text = await attempt(context.prompter.input(context.tool_use_id, question, default))
    if isinstance(text, Unanswered):
        return _valued("value", None, f"the operator did not answer: {text.cause}")
    return _valued("value", text, "")


def _text_of(tool: str, asked: _Question) -> str:
    question = _clean(asked.question or "")
    if not question:
        raise ToolError(f"invalid {tool} input: the question is empty; say what you want to know")
    return question


def _options_of(asked: _Question) -> list[str]:
    options = [_clean(option) for option in asked.options or ()]
    if not 1 <= len(options) <= OPTION_LIMIT:
        raise ToolError(
            f"invalid {SELECT} input: it takes 1 to {OPTION_LIMIT} options, got {len(options)}"
        )
    return options


def _clean(text: str) -> str:
    return sanitise.for_terminal(text, TEXT_LIMIT)


def _unreachable(context: FunctionContext) -> str:
    """Return why nobody can be asked, empty when somebody can.

    Raises:
        PromptAbortedError: the run is over, so its next one asks.
    """
    if not context.prompter.can_prompt():
        return NO_OPERATOR_REASON
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise PromptAbortedError("the run ended before anybody was asked")
    return ""


def _confirmed(reason: str, *, said: bool = False) -> str:
    return _json({"confirmed": said and not reason}, reason)


def _valued(member: str, value: str | None, reason: str) -> str:
    return _json({member: value}, reason)


def _json(answer: dict[str, object], reason: str) -> str:
    return gojson.dumps(answer | ({"reason": reason} if reason else {})).decode()


_WHEN = (
    "Use it when you cannot go on well without the operator's decision or knowledge. "
    "The operator cannot see or answer plain text."
)
_FINAL = "A negative answer is authoritative: do not ask the same again."
_QUESTION = {"type": "string", "description": "The question, in one or two sentences"}


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, object],
    required: list[str],
    handler: Handler,
) -> FunctionTool:
    return builtin_tool(
        FunctionSpec(
            name=name,
            description=description,
            schema={"type": "object", "properties": properties, "required": required},
            handler=handler,
            operator_paced=True,
        ),
        expose=Exposure(),
    )


TOOLS: tuple[FunctionTool, ...] = (
    _tool(
        CONFIRM,
        f"Ask the human operator a yes-or-no question and wait for the answer. {_WHEN} {_FINAL} "
        "A reason beside the answer says that nobody answered.",
        {"question": _QUESTION},
        ["question"],
        _ask_confirm,
    ),
    _tool(
        SELECT,
        f"Ask the human operator to choose one of 1 to {OPTION_LIMIT} options and wait. {_WHEN} "
        f"{_FINAL} Nothing selected comes with the reason.",
        {
            "question": _QUESTION,
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": f"The options, 1 to {OPTION_LIMIT}, each a short label",
            },
        },
        ["question", "options"],
        _ask_select,
    ),
    _tool(
        INPUT,
        f"Ask the human operator for a short text and wait. {_WHEN} Never ask for passwords, keys "
        f"or other secrets. {_FINAL} An empty text is an answer; no text comes with the reason.",
        {
            "question": _QUESTION,
            "default": {"type": "string", "description": "What is offered as the answer"},
        },
        ["question"],
        _ask_input,
    ),
)
"""The three tools in the order models are told of them."""
