"""The session a run works in, once it is open: new, continued, or none at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fisk_ai.agent import conversation
from fisk_ai.agent.conversation import Conversation
from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.agent.options import Checkpoint, HeldApproval, Stats
from fisk_ai.agent.prompt import context_blocks
from fisk_ai.agent.setup import Setup
from fisk_ai.errors import ExistsError, LockedError
from fisk_ai.llm.model import Message
from fisk_ai.sessions.records import CallApproval, Meta, User
from fisk_ai.sessions.store import Journal
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.toolkit.contract import Advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the loop starts from; the journal is this run's to write and to close.

    ``caller`` is who began the session, as recorded. ``standing`` and ``one_shot`` are the grants
    that still count, ``doubtful_call`` the call that may have run before, ``approved_since`` the
    approvals that count even for it, ``held`` the decision this run brought along, ``advisories``
    what a person should know of the resume.
    """

    conversation: Conversation
    journal: JournalWriter
    session_id: str = ""
    caller: str = ""
    stats: Stats = field(default_factory=Stats)
    resumed: bool = False
    standing: tuple[str, ...] = ()
    one_shot: Mapping[str, CallApproval] = field(default_factory=dict[str, CallApproval])
    doubtful_call: str | None = None
    approved_since: Mapping[str, CallApproval] = field(default_factory=dict[str, CallApproval])
    held: HeldApproval | None = None
    advisories: tuple[Advisory, ...] = ()


def unrecorded(setup: Setup) -> Session:
    """Start a run that writes nothing down."""
    return Session(conversation=_begin(setup), journal=JournalWriter(None))


async def create(setup: Setup, checkpoint: Checkpoint) -> Session:
    """Start a new session; its first record is durable when this returns.

    A context is the second record: readers join both into the one user message that the model
    is shown here.

    Raises:
        ExistsError, InvalidIdError, StoreError: the session could not be created.
        LockedError: another process created it at this moment.
    """
    journal = await _create(setup, checkpoint)
    try:
        await add_context(journal, setup.context)
    except BaseException:
        await journal.close()
        raise
    return Session(
        conversation=_begin(setup),
        journal=JournalWriter(journal),
        session_id=setup.session_id,
        caller=checkpoint.caller,
    )


async def _create(setup: Setup, checkpoint: Checkpoint) -> Journal:
    session_id = setup.session_id
    meta = Meta(
        run_id=session_id,
        created=rfc3339_now(),
        fingerprint=setup.fingerprint,
        prompt=setup.prompt,
        interactive=setup.interactive,
        conversation_token=checkpoint.conversation_token,
        caller=checkpoint.caller,
        agent=setup.config.identity,
        request=checkpoint.request,
    )
    try:
        return await setup.options.session_store.create(session_id, meta)
    except ExistsError as exc:
        if not checkpoint.create_if_missing:
            raise
        raise LockedError(
            f'session "{session_id}" was created by another process at this moment'
        ) from exc


async def add_context(journal: Journal, context: str) -> None:
    """Write the context of the first prompt, when there is one."""
    blocks = context_blocks(context)
    if blocks:
        await journal.append(journal.last_seq() + 1, User(message=Message("user", blocks)))


def _begin(setup: Setup) -> Conversation:
    begun = conversation.begin(setup.prompt, cap=setup.config.llm.budget.max_iterations)
    blocks = context_blocks(setup.context)
    if blocks:
        begun.prompt(blocks)
    return begun
