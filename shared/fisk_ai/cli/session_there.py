"""Deciding over NATS: what a session waits for is asked of its agent, and the decision sent to it.

Nothing of the store is read or written here, so that who may decide need not be who may read
journals. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fisk_ai.a2a.client import IncompleteTaskError, TaskEnd
from fisk_ai.a2a.messages import Answer, OperatorState, WaitingCall
from fisk_ai.a2a.operator_client import OperatorClient
from fisk_ai.cli.endings import BROKEN_OFF, PARKED, REFUSED, ending
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.session_agent import Agent
from fisk_ai.cli.session_decision import described
from fisk_ai.cli.session_flags import command_of
from fisk_ai.cli.session_json import machine_text
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting, shown
from fisk_ai.cli.turn import Turn, TurnEnd, end_of
from fisk_ai.errors import NotDeferredError, ServiceRefusedError, TaskError
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.summary import RunSummary, usage_line
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.text.gojson import RawJSON
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.prompter import DefaultDenyPrompter

REFUSAL_LIMIT = 400
"""Code points of what an agent says of a decision that it does not take."""

SHOWN_LIMIT = 2000
"""Code points of the command line of a question."""

_SERVED = ("t-", "j-", "s-", "w-")
"""What the ids of sessions begin with that an agent serves."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that waits, as its agent tells of it; ``live`` says that a run waits on it now.

    ``args_sha256`` is what binds an approval to the arguments that a person was shown.
    """

    item: Waiting
    args_sha256: str
    live: bool = False


Deciding = Callable[[Asked], Answer]
"""Returns the decision about one call, or raises what speaks against it."""


def decide_there(
    agent: Agent,
    arguments: argparse.Namespace,
    deciding: Deciding,
    *,
    fits: Callable[[Waiting], bool],
) -> None:
    """Find the call that is meant, send the decision, and print what comes of it.

    Raises:
        NotDeferredError: nothing waits, several things do, or not under that id.
        TaskError: the run that went on ended otherwise than with an answer or another question.
        FiskError: the agent does not answer, or took no decision; says why.
    """
    run_one_shot(_decide(agent, arguments, deciding, fits))


def asked_of(state: OperatorState) -> list[Asked]:
    """Return what a session waits for, in the order the model asked."""
    if state.held:
        question = state.question or None
        if question is None:
            return []
        item = Waiting(
            tool_use_id=question.tool_use_id,
            kind=question.kind,
            tool="",
            question=question.text,
            since="",
            arguments=b"",
            is_deferred=question.kind != "approve",
        )
        return [Asked(item, question.args_sha256, live=True)]
    return [_stored(call) for call in state.waiting]


def _stored(call: WaitingCall) -> Asked:
    arguments = call.arguments.encode()
    deferred = call.kind != "approve" and not call.unasked
    item = Waiting(
        tool_use_id=call.tool_use_id,
        kind=call.kind,
        tool=call.tool,
        question=call.question,
        since=call.since,
        arguments=arguments,
        is_deferred=deferred,
        parked=True,
        in_doubt=call.in_doubt,
        is_approved=call.approved,
    )
    digest = args_sha256(call.tool, arguments) if arguments else call.args_sha256
    return Asked(shown(item), digest)


async def _decide(
    agent: Agent,
    arguments: argparse.Namespace,
    deciding: Deciding,
    fits: Callable[[Waiting], bool],
) -> None:
    session = _session_of(agent.identity, arguments.id)
    async with agent.reached() as operator:
        state = await _status(operator, session)
        asked = _chosen(session, state, arguments.call, fits)
        if arguments.args:
            print(_arguments(asked.item))
        answer = deciding(asked)
        print(f"-> {described(asked.item)}", file=sys.stderr)
        view = LineView(sys.stdout, sys.stderr, LineOptions(lead=f"warning from {agent.identity}"))
        turn = Turn(view=view, prompter=DefaultDenyPrompter())
        began = time.monotonic()
        end = await _sent(operator, session, answer, turn)
        if end is None:
            print("recorded")
            print(_later(session, live=asked.live), file=sys.stderr)
            return
        _print(end, turn, session, took_s=time.monotonic() - began)
        if end.code in PARKED:
            for line in _left(session, await _status(operator, session), arguments):
                print(line, file=sys.stderr)
        _require_success(end)


def _session_of(identity: str, word: str) -> str:
    """Return the session that a person names by its id, or by its conversation's token."""
    return word if word.startswith(_SERVED) else session_id_for_token(identity, word)


def _arguments(item: Waiting) -> str:
    """Return a call's exact arguments, or what else its agent tells of it."""
    if item.arguments:
        return machine_text(RawJSON(item.arguments))
    return for_terminal(item.question, SHOWN_LIMIT)


async def _status(operator: OperatorClient, session: str) -> OperatorState:
    try:
        return await operator.status(session)
    except ServiceRefusedError as exc:
        raise NotDeferredError(_words(exc), key=session) from exc


async def _sent(
    operator: OperatorClient, session: str, answer: Answer, turn: Turn
) -> TurnEnd | None:
    try:
        end: TaskEnd | None = await operator.decide(session, answer, turn)
    except ServiceRefusedError as exc:
        raise NotDeferredError(f"nothing was decided: {_words(exc)}", key=session) from exc
    except IncompleteTaskError as exc:
        return TurnEnd(code="incomplete", kind=BROKEN_OFF, detail=str(exc))
    return None if end is None else end_of(end)


def _words(refusal: ServiceRefusedError) -> str:
    """Return what the agent said, without the subject that a person does not need."""
    said = str(refusal).partition(f": {refusal.status}: ")[2] or str(refusal)
    return for_terminal(said, REFUSAL_LIMIT)


def _chosen(
    session: str, state: OperatorState, call: str | None, fits: Callable[[Waiting], bool]
) -> Asked:
    found = asked_of(state)
    how = "it runs and asks nothing now" if state.held else f"it is {label(state.status)}"
    if call is not None:
        for each in found:
            if each.item.tool_use_id == call:
                return each
        raise NotDeferredError(
            f'session "{session}" does not wait on call {label(call)}: {how}', key=call
        )
    meant = [each for each in found if fits(each.item)] or found
    if len(meant) == 1:
        return meant[0]
    if not meant:
        raise NotDeferredError(f'session "{session}" waits on nothing: {how}', key=session)
    listed = "; ".join(described(each.item) for each in meant)
    raise NotDeferredError(
        f'{len(meant)} calls of session "{session}" may be meant, name one of them: {listed}',
        key=session,
    )


def _later(session: str, *, live: bool) -> str:
    if session.startswith("j-") and not live:
        return "the job goes on when its task is tried again"
    if session.startswith(("s-", "w-")) and not live:
        return "the turn that goes on with it is queued"
    return "the run that asked goes on"


def _print(end: TurnEnd, turn: Turn, session: str, *, took_s: float) -> None:
    """Print what the run that went on came to; one that was refused came to nothing."""
    if end.code in REFUSED:
        return
    turn.view.answer(end.text)
    if end.code in PARKED:
        turn.view.note(f"\n{ending(end.code, end.detail).message}")
    usage = usage_line(turn.totals(end.usage), turn.bound)
    turn.view.note(f"\n{usage}" if usage else "")
    summary = RunSummary(
        session_id=session,
        model="",
        totals=turn.totals(end.usage),
        latency_s=took_s,
        counted=not end.code or bool(end.usage),
        suspended=end.code in PARKED,
        trace_id=end.trace_id,
        exported=end.exported,
    )
    turn.view.note(summary.line())


def _left(session: str, state: OperatorState, arguments: argparse.Namespace) -> Iterator[str]:
    for asked in asked_of(state):
        item = asked.item
        if item.is_approved:
            continue
        yield f"still waiting: {described(item)}"
        verb = "approve" if item.kind == "approve" else "answer"
        words = ("session", verb, session, label(item.tool_use_id))
        yield f"  decide with: {command_of(words, arguments)}"


def _require_success(end: TurnEnd) -> None:
    ended = ending(end.kind or end.code, end.detail)
    if end.code and ended.failed:
        raise TaskError(ended.message, task_code=end.code)
