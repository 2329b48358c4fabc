"""What ``answer``, ``approve`` and ``deny`` have in common: the call they mean, and what they say.

In files they record one decision under the session's lock and start nothing. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence

from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.session_advice import Advice, mark_of, standing
from fisk_ai.cli.session_flags import add_identity, parser_of
from fisk_ai.cli.session_json import machine_text
from fisk_ai.cli.session_reading import Session, read, read_named
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting, waiting
from fisk_ai.cli.times import local_time
from fisk_ai.errors import AlreadyAnsweredError, LockedError, NotDeferredError
from fisk_ai.sessions.records import Claim, Record, ToolResult
from fisk_ai.sessions.store import Store
from fisk_ai.text.gojson import RawJSON
from fisk_ai.text.sanitise import for_terminal

CALL_LIMIT = 300
"""Code points of a call or a question in a sentence."""

Recording = Callable[[Store, Session, Waiting], Awaitable[None]]
"""Writes one decision about one call into its session."""


def decision_parser(verb: str, description: str) -> CommandParser:
    """Return the parser of a verb that decides about a call."""
    parser = parser_of(verb, description)
    parser.add_argument("id", help="the session's id, or its conversation's token")
    parser.add_argument(
        "call", nargs="?", help="the call's id; not needed where the session waits on one alone"
    )
    parser.switch("--args", "print the exact arguments of the call first")
    add_identity(parser)
    return parser


async def decide(
    store: Store,
    arguments: argparse.Namespace,
    record: Recording,
    *,
    fits: Callable[[Waiting], bool],
) -> None:
    """Find the call that is meant, record the decision and say how to go on.

    ``fits`` says which calls are meant where the arguments name none.

    Raises:
        NotDeferredError: nothing waits, several things do, or not under that id.
        AlreadyAnsweredError: the call has its answer; says since when.
        LockedError: a run holds the session.
        StoreError: it could not be read or written.
    """
    session = await read_named(store, arguments.id)
    if session.holder:
        raise _is_running(session.run_id, session.holder)
    chosen = _chosen(session, arguments.call, fits)
    if arguments.args:
        print(machine_text(RawJSON(chosen.arguments)))
    try:
        await record(store, session, chosen)
    except LockedError as exc:
        raise _is_running(session.run_id, await store.held_by(session.run_id)) from exc
    print("recorded")
    for line in await _next_steps(store, session.run_id, arguments):
        print(line, file=sys.stderr)


def require_decidable(item: Waiting) -> None:
    """Refuse a call that only a resumed run, or a program, decides about.

    Raises:
        NotDeferredError: says which of them does.
    """
    reason = standing(item)
    if reason:
        raise NotDeferredError(f"call {label(item.tool_use_id)} is {reason}", key=item.tool_use_id)


def described(item: Waiting) -> str:
    """Return one line that says what waits."""
    question = for_terminal(item.question, CALL_LIMIT)
    return f"{label(item.tool_use_id)} ({mark_of(item)}) {question}"


def _is_running(run_id: str, holder: str) -> LockedError:
    named = f" ({holder})" if holder else ""
    return LockedError(
        f'session "{run_id}" is running in another process{named}; answer it there or over NATS '
        "(--nats-context), or decide once it has stopped",
        key=run_id,
    )


def _chosen(session: Session, call: str | None, fits: Callable[[Waiting], bool]) -> Waiting:
    items = waiting(session)
    if call is not None:
        return _named(session, items, call)
    items = list(filter(fits, items)) or items
    if len(items) == 1:
        return items[0]
    if not items:
        answered = _last_answer(session)
        raise (AlreadyAnsweredError if answered else NotDeferredError)(
            f'session "{session.run_id}" waits on nothing: '
            + (answered or f"it is {session.state.status}"),
            key=session.run_id,
        )
    listed = "; ".join(described(item) for item in items)
    raise NotDeferredError(
        f'{len(items)} calls of session "{session.run_id}" may be meant, name one of them: '
        f"{listed}",
        key=session.run_id,
    )


def _named(session: Session, items: Sequence[Waiting], call: str) -> Waiting:
    for item in items:
        if item.tool_use_id == call:
            return item
    answered = _answer_of(session.records, call)
    if answered:
        raise AlreadyAnsweredError(f"call {label(call)} was answered {answered}", key=call)
    raise NotDeferredError(
        f'session "{session.run_id}" does not wait on call {label(call)}: it is '
        f"{session.state.status}",
        key=call,
    )


def _last_answer(session: Session) -> str:
    """Say which call was decided from outside, where no run has gone on since."""
    last = session.records[-1].payload
    if not isinstance(last, ToolResult) or last.kind:
        return ""
    when = _answer_of(session.records, last.tool_use_id)
    return f"call {label(last.tool_use_id)} was answered {when}"


def _answer_of(records: Sequence[Record], call: str) -> str:
    """Return when and by whom a call was answered, empty when it was not."""
    holder = ""
    for record in records:
        match record.payload:
            case Claim(by=by):
                holder = by
            case ToolResult(tool_use_id=use_id, kind=kind) if use_id == call:
                run = f"by a run ({label(holder)})" if holder else "by the run"
                when = f"at {local_time(record.time)} " if record.time else ""
                return f"{when}{run if kind else 'from outside the run'}"
            case _:
                pass
    return ""


async def _next_steps(store: Store, run_id: str, arguments: argparse.Namespace) -> list[str]:
    session = await read(store, run_id)
    advice = Advice(session, arguments)
    lines: list[str] = []
    for item in waiting(session):
        if not item.is_approved:
            lines.append(f"still waiting: {described(item)}")
            lines += (f"  {line}" for line in advice.lines(item))
    return [*lines, *advice.resume()]
