"""``fisk-ai session pending``: what waits for a person, over all sessions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from fisk_ai.cli.session_advice import IN_DOUBT, UNASKED, mark_of, running
from fisk_ai.cli.session_agent import Agent, agent_of
from fisk_ai.cli.session_flags import (
    add_identity,
    add_page,
    directory_of,
    page_of,
    parser_of,
    with_store,
)
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.session_ls import left_out_of, say_left_out
from fisk_ai.cli.session_reading import Session, read_with_holder
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting, stored_call, waiting
from fisk_ai.cli.times import local_time
from fisk_ai.errors import BusError, PeerError, StoreError
from fisk_ai.render.tables import within
from fisk_ai.render.width import terminal_width
from fisk_ai.sessions.store import Filter, RunInfo, Store
from fisk_ai.text import clock
from fisk_ai.text.sanitise import for_terminal

QUESTION_LIMIT = 60
"""Code points of a question in the listing."""

_HEADER = ("Session", "Call", "Kind", "Tool", "Question", "Since", "Agent")
_LEAST = {4: 16, 3: 10, 6: 8}
"""What may be left of question, tool and agent on a narrow terminal; ids are never cut."""


@dataclass(frozen=True, slots=True)
class _Row:
    session: RunInfo
    waiting: Waiting


def pending(argv: Sequence[str]) -> int:
    """List everything that waits, oldest first."""
    parser = parser_of("pending", "List what waits for a person, oldest first.")
    parser.switch("--json", "print JSON for other programs")
    add_page(parser)
    add_identity(parser)
    arguments = parser.parse_args(argv)
    page = page_of(arguments)
    agent = agent_of(arguments)
    sessions, rows, held = with_store(arguments, lambda store: _collect(store, agent))
    shown = page.cut(rows, "calls")
    if arguments.json:
        print(machine_text({"calls": [_members(row) for row in shown]}))
    elif shown:
        cells = [_cells(row) for row in shown]
        print(within(_HEADER, cells, width=terminal_width(), least=_LEAST, whole=2))
        _explain(shown, at_broker=agent is not None)
    else:
        print("Nothing waits for an answer")
    for session in held:
        print(f"session {session.run_id} runs {_elsewhere(session, agent)}", file=sys.stderr)
    page.say_more(rows, "calls")
    say_left_out(left_out_of(directory_of(arguments), sessions), arguments)
    return 0


def _elsewhere(session: Session, agent: Agent | None) -> str:
    if agent is None:
        return running(session)
    return f"in another process ({session.holder}): what it asks is decided like anything else"


async def _collect(
    store: Store, agent: Agent | None
) -> tuple[list[RunInfo], list[_Row], list[Session]]:
    """Return every session, what waits in them, and those whose calls a process is at."""
    sessions = await store.list(Filter())
    found: list[_Row] = []
    held: list[Session] = []
    for row in sessions:
        session = await _open_batch(store, row)
        if session is None:
            continue
        found += [_Row(row, item) for item in waiting(session) if not item.is_approved]
        held += [session] if session.holder else []
    if agent is not None and held:
        infos = {row.run_id: row for row in sessions}
        live = await _live(agent, held)
        found += [_Row(infos[run_id], item) for run_id, item in live]
    return sessions, sorted(found, key=_age), held


async def _live(agent: Agent, held: Sequence[Session]) -> list[tuple[str, Waiting]]:
    """Ask those who run sessions what they wait for now."""
    from fisk_ai.cli.session_there import asked_of  # noqa: PLC0415 - the NATS client, if needed

    found: list[tuple[str, Waiting]] = []
    async with agent.reached() as operator:
        for session in held:
            with contextlib.suppress(PeerError, BusError):  # it has ended, or says nothing
                state = await operator.status(session.run_id)
                if state.held:
                    asked = asked_of(state)
                    found += [(session.run_id, stored_call(each.item, session)) for each in asked]
    return found


async def _open_batch(store: Store, row: RunInfo) -> Session | None:
    """Return a session where calls have no result yet."""
    if row.status == "completed":
        return None
    try:
        session = await read_with_holder(store, row.run_id)
    except StoreError:
        return None  # removed or damaged since it was listed
    return session if session.state.pending is not None else None


def _explain(rows: Sequence[_Row], *, at_broker: bool) -> None:
    """Say of the rows that nothing recorded can decide what does; over NATS a doubt can be."""
    if any(row.waiting.is_unasked for row in rows):
        print(f"an unasked question is {UNASKED}", file=sys.stderr)
    doubtful = any(row.waiting.in_doubt and not row.waiting.is_unasked for row in rows)
    if doubtful and not at_broker:
        print(f"a call marked so is {IN_DOUBT}", file=sys.stderr)


def _age(row: _Row) -> int:
    return clock.rfc3339_ns(row.waiting.since or row.session.updated)


def _cells(row: _Row) -> tuple[str, ...]:
    item = row.waiting
    return (
        row.session.run_id,
        label(item.tool_use_id),
        mark_of(item),
        label(item.tool),
        for_terminal(item.question, QUESTION_LIMIT),
        local_time(item.since) if item.since else "",
        label(row.session.agent),
    )


def _members(row: _Row) -> dict[str, object]:
    item = row.waiting
    return present(
        run_id=row.session.run_id,
        tool_use_id=item.tool_use_id,
        kind=item.kind,
        tool=item.tool,
        question=item.question,
        since=item.since,
        agent=row.session.agent,
        in_doubt=item.in_doubt,
        unasked=item.is_unasked,
    )
