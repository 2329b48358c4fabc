"""``fisk-ai session approve`` and ``deny``: a person's word on a call that a run stopped before."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from fisk_ai.cli.session_agent import Agent, agent_of
from fisk_ai.cli.session_decision import (
    CALL_LIMIT,
    decide,
    decision_parser,
    require_decidable,
)
from fisk_ai.cli.session_flags import PROGRAM, with_store
from fisk_ai.cli.session_reading import Session
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting
from fisk_ai.errors import AlreadyAnsweredError, NotDeferredError, RefusedError
from fisk_ai.render.calls import call_line
from fisk_ai.sessions import supply
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.records import CallApproval
from fisk_ai.sessions.store import Store
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.gate import DECLINED_REASON, IN_DOUBT_REASON, Decision
from fisk_ai.toolkit.prompter import Choice

_UNKNOWN = (
    "the run stopped before this call; whether it needs an approval is decided by the "
    "configuration of the run that goes on"
)

_OUTCOME_UNKNOWN = "it may have run already, so the agent is told that its outcome is unknown"

_AT_A_TERMINAL = (
    "it counts when the session is resumed at a terminal; where nobody can be asked, the call is "
    "denied all the same and the approval is lost"
)


def approve(argv: Sequence[str]) -> int:
    """Record that a call may run once."""
    parser = decision_parser(
        "approve", "Let a waiting call run once; the next resume, at a terminal, runs it."
    )
    parser.switch("--always", "every call of its tool from now on; over NATS alone")
    arguments = parser.parse_args(argv)
    agent = agent_of(arguments)
    if agent is not None:
        _decide_there(agent, arguments, "always" if arguments.always else "once", _is_undecided)
        return 0
    if arguments.always:
        raise RefusedError(
            "--always cannot be recorded in a file before the call has run, or a crash would leave "
            "a grant for a call that never happened; approve it once, or answer 'always' when a "
            "resumed run asks",
            key="--always",
        )
    with_store(arguments, lambda store: decide(store, arguments, _approve, fits=_is_undecided))
    return 0


def deny(argv: Sequence[str]) -> int:
    """Record that a call will not run; the model reads so."""
    parser = decision_parser(
        "deny", "Refuse a waiting call; the model reads that at the next resume."
    )
    arguments = parser.parse_args(argv)
    agent = agent_of(arguments)
    if agent is not None:
        _decide_there(agent, arguments, "no", _is_gated)
        return 0
    with_store(arguments, lambda store: decide(store, arguments, _deny, fits=_is_gated))
    return 0


def _decide_there(
    agent: Agent, arguments: argparse.Namespace, choice: Choice, fits: Callable[[Waiting], bool]
) -> None:
    # Here, for decisions in files: it brings the NATS client.
    from fisk_ai.a2a.messages import Answer  # noqa: PLC0415
    from fisk_ai.cli.session_there import Asked, decide_there  # noqa: PLC0415

    def deciding(asked: Asked) -> Answer:
        item = asked.item
        _require_gated(item, "deny" if choice == "no" else "approve")
        if choice != "no" and item.is_approved:
            raise _approved(item)
        return Answer(
            tool_use_id=item.tool_use_id,
            kind="approve",
            answer="choice",
            choice=choice,
            args_sha256=asked.args_sha256,
        )

    decide_there(agent, arguments, deciding, fits=fits)


def _is_gated(item: Waiting) -> bool:
    return item.kind == "approve"


def _is_undecided(item: Waiting) -> bool:
    return _is_gated(item) and not item.is_approved


async def _approve(store: Store, session: Session, item: Waiting) -> None:
    require_decidable(item)
    _require_gated(item, "approve")
    if item.is_approved:
        raise _approved(item)
    _say_what(item)
    approval = CallApproval(
        tool_use_id=item.tool_use_id,
        tool_name=item.tool,
        args_sha256=args_sha256(item.tool, item.arguments),
    )
    await supply.approve(store, session.run_id, approval)
    print(_AT_A_TERMINAL, file=sys.stderr)


async def _deny(store: Store, session: Session, item: Waiting) -> None:
    if not item.parked or not _is_gated(item):
        require_decidable(item)
    _require_gated(item, "deny")
    _say_what(item)
    reason = IN_DOUBT_REASON if item.in_doubt else DECLINED_REASON
    refusal = Decision(allowed=False, reason=reason, is_error=item.in_doubt)
    await supply.decline(
        store,
        session.run_id,
        item.tool_use_id,
        refusal.result_text(),
        is_error=refusal.is_error,
    )


def _approved(item: Waiting) -> AlreadyAnsweredError:
    return AlreadyAnsweredError(
        f"call {label(item.tool_use_id)} is approved already; resume the session to run it",
        key=item.tool_use_id,
    )


def _require_gated(item: Waiting, verb: str) -> None:
    """Refuse a question that waits for its answer."""
    if not _is_gated(item):
        raise NotDeferredError(
            f"call {label(item.tool_use_id)} has begun and waits for its answer, so nothing is "
            f"left to {verb}: '{PROGRAM} answer' it",
            key=item.tool_use_id,
        )


def _say_what(item: Waiting) -> None:
    """Say which call this is; only the run that goes on knows whether it needs a decision."""
    line = for_terminal(call_line(item.tool, item.arguments), CALL_LIMIT)
    print(f"-> {line}", file=sys.stderr)
    print(_OUTCOME_UNKNOWN if item.in_doubt else _UNKNOWN, file=sys.stderr)
