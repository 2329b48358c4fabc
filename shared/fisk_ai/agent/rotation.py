"""Leaving a conversation for a new one while a person sits at the run.

A session that is left stays as it is, parked, and can be resumed. The new one is created first, so
that a crash in between loses neither. Grants and doubts belong to what was left; the counters and
what the run knows of the memory go on.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from fisk_ai.agent import closing, conversation
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.agent.prompt import of_new_session
from fisk_ai.agent.stats import spent
from fisk_ai.errors import StoreError
from fisk_ai.sessions.records import Meta, Terminal
from fisk_ai.sessions.store import Journal
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.text.ids import ksuid
from fisk_ai.toolkit.gate import ConfirmGate


async def begin_anew(active: ActiveRun, prompt: str) -> bool:
    """Open a new conversation with ``prompt``; false where its session could not be created.

    Without a journal there is nothing to leave: the conversation is forgotten, and what it spent
    still counts against the budget.
    """
    if active.journal.enabled and not await _rotate(active, prompt):
        return False
    cap = active.config.llm.budget.max_iterations
    active.conversation = conversation.begin(prompt, cap=cap)
    active.gate = ConfirmGate(active.options.prompter)
    active.staged_grants.clear()
    active.doubtful_call = None
    active.system_blocks = of_new_session(active.system_blocks)
    return True


async def _rotate(active: ActiveRun, prompt: str) -> bool:
    session_id = ksuid()
    try:
        journal = await active.options.session_store.create(
            session_id, _meta(active, session_id, prompt)
        )
    except StoreError as exc:
        await active.warn("session_rotate", error=str(exc))
        return False
    await _swap(active, session_id, journal)
    return True


async def _swap(active: ActiveRun, session_id: str, journal: Journal) -> None:
    async with AsyncExitStack() as unless_taken:
        unless_taken.push_async_callback(journal.close)
        await closing.record_terminal(active, Terminal(reason="suspended"))
        await closing.close(active)
        unless_taken.pop_all()
    previous, active.session_id = active.session_id, session_id
    active.journal = JournalWriter(journal)
    active.spent_before = spent(active.stats.usage)
    await active.events.session_rotated(previous)


def _meta(active: ActiveRun, session_id: str, prompt: str) -> Meta:
    return Meta(
        run_id=session_id,
        created=rfc3339_now(),
        fingerprint=active.fingerprint,
        prompt=prompt,
        interactive=True,
        caller=active.caller,
        agent=active.config.identity,
    )
