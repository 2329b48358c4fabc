"""``fisk-ai session answer``: a person's late answer to what a parked run asked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fisk_ai.cli.session_agent import agent_of
from fisk_ai.cli.session_decision import (
    decide,
    decision_parser,
    require_decidable,
)
from fisk_ai.cli.session_flags import PROGRAM, with_store
from fisk_ai.cli.session_reading import Session
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting, options_of
from fisk_ai.errors import NotDeferredError, UsageError
from fisk_ai.sessions import supply
from fisk_ai.sessions.store import Store
from fisk_ai.toolkit.builtin import hitl

if TYPE_CHECKING:
    from fisk_ai.a2a.messages import Answer
    from fisk_ai.cli.session_there import Asked

_FLAGS = ("--confirm", "--select", "--input", "--no-operator")

VALUE_LIMIT = 4096
"""Code points of an answer, as of one that travels."""


@dataclass(frozen=True, slots=True)
class _Answer:
    confirm: str | None
    select: str | None
    input: str | None
    no_operator: bool

    async def record(self, store: Store, session: Session, item: Waiting) -> None:
        """Write the answer down as the tool that asked would have."""
        require_decidable(item)
        content = self._content(item)
        await supply.supply(store, session.run_id, item.tool_use_id, content)

    def sent(self, asked: Asked) -> Answer:
        """Return the answer as it is sent to the agent."""
        from fisk_ai.a2a.messages import Answer  # noqa: PLC0415 - for what goes over NATS

        item = asked.item
        require_decidable(item)
        kind, given = self._fitting(item)
        call = item.tool_use_id
        if given is None:
            return Answer(tool_use_id=call, kind=kind, answer="no_operator", no_operator=True)
        if kind == "confirm":
            return Answer(tool_use_id=call, kind=kind, answer="confirmed", confirmed=given == "yes")
        return Answer(tool_use_id=call, kind=kind, answer="value", value=given)

    def _content(self, item: Waiting) -> str:
        kind, given = self._fitting(item)
        if given is None:
            return hitl.late_answer(kind, no_operator=True).content
        if kind == "confirm":
            return hitl.late_answer(kind, confirmed=given == "yes").content
        if kind == "select":
            _require_option(item, given)
        return hitl.late_answer(kind, value=given).content

    def _fitting(self, item: Waiting) -> tuple[hitl.Kind, str | None]:
        """Return what the call asks for, and what was given; ``None`` says that nobody is there.

        Raises:
            NotDeferredError: it asks for a decision.
            UsageError: it asks for something else than was given.
        """
        kind = item.kind
        if kind in ("approve", "deferred"):
            raise NotDeferredError(
                f"call {label(item.tool_use_id)} waits for a decision, not for an answer: "
                f"'{PROGRAM} approve' or '{PROGRAM} deny' it",
                key=item.tool_use_id,
            )
        if self.no_operator:
            return kind, None
        given = {"confirm": self.confirm, "select": self.select, "input": self.input}[kind]
        if given is None:
            raise UsageError(
                f"call {label(item.tool_use_id)} asks for --{kind}; answer it with that",
                key=f"--{kind}",
            )
        return kind, given


def answer(argv: Sequence[str]) -> int:
    """Record an answer in the session that the arguments name."""
    parser = decision_parser("answer", "Answer what a session waits for; the next resume goes on.")
    parser.value("--confirm", "yes|no", "the answer to a question for yes or no")
    parser.value("--select", "TEXT", "the text of the option that is chosen")
    parser.value("--input", "TEXT", "the text that was asked for; empty is an answer")
    parser.switch("--no-operator", "nobody is there to answer")
    arguments = parser.parse_args(argv)
    given = _given(arguments)
    agent = agent_of(arguments)
    if agent is not None:
        from fisk_ai.cli.session_there import decide_there  # noqa: PLC0415 - the NATS client

        decide_there(agent, arguments, given.sent, fits=lambda item: item.is_deferred)
        return 0
    with_store(
        arguments,
        lambda store: decide(store, arguments, given.record, fits=lambda item: item.is_deferred),
    )
    return 0


def _given(arguments: argparse.Namespace) -> _Answer:
    values = (arguments.confirm, arguments.select, arguments.input, arguments.no_operator)
    if sum(value is not None for value in values) != 1:
        raise UsageError(f"{PROGRAM} answer takes exactly one of {', '.join(_FLAGS)}", key="answer")
    if arguments.confirm not in (None, "yes", "no"):
        raise UsageError("--confirm takes yes or no", key="--confirm")
    for value in (arguments.select, arguments.input):
        if value is not None and len(value) > VALUE_LIMIT:
            raise UsageError(
                f"an answer has at most {VALUE_LIMIT} characters, this one has {len(value)}",
                key="answer",
            )
    return _Answer(
        confirm=arguments.confirm,
        select=arguments.select,
        input=arguments.input,
        no_operator=bool(arguments.no_operator),
    )


def _require_option(item: Waiting, given: str) -> None:
    offered = options_of(item)
    if given not in offered:
        raise UsageError(
            f"--select takes the text of an option of call {label(item.tool_use_id)}: "
            + ", ".join(repr(option) for option in offered),
            key="--select",
        )
