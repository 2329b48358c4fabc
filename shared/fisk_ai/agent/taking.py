"""Taking a session: the claim, what is written right behind it, and what the run starts from.

The claim is the first thing written, before anything else happens on behalf of the session, so
that whoever still believes it is theirs is refused at their next record. Rules:
``docs/reference/agent-loop.md``.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fisk_ai.agent import conversation
from fisk_ai.agent.conversation import Conversation
from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.agent.options import Checkpoint, HeldApproval, SuppliedAnswer
from fisk_ai.agent.prompt import context_blocks
from fisk_ai.agent.renewed import approved_since
from fisk_ai.agent.session import Session, add_context
from fisk_ai.agent.setup import Setup
from fisk_ai.agent.stats import from_journal
from fisk_ai.errors import LockedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.memory import scope
from fisk_ai.sessions.fingerprint import Drift
from fisk_ai.sessions.fold import fold, in_doubt
from fisk_ai.sessions.records import Assistant, CallApproval, Claim, Record, ToolResult, User
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Journal
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit.contract import Advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """A session about to be taken: admitted, open, and read up to its last record.

    ``answer`` and ``context`` are what is written behind the claim.
    """

    setup: Setup
    checkpoint: Checkpoint
    state: RunState
    drift: Drift
    journal: Journal
    answer: SuppliedAnswer | None
    context: str

    async def take(self) -> Session:
        """Claim the session and return it as this run starts from it."""
        records = await self.journal.records()
        doubtful_call = in_doubt(records)
        await self._claim()
        state = await self._answered()
        return await replace(self, state=state).begin(records, doubtful_call)

    async def begin(self, records: Sequence[Record], doubtful_call: str | None) -> Session:
        """Return the session as it stands behind the claim and what was brought along."""
        await self._keep_approval()
        begun = conversation.resume(self.state, cap=self._cap(records))
        await self._mend_context(begun)
        _seed_memory(self.state)
        keeps_grants = self._keeps_grants
        standing = tuple(dict.fromkeys(self.state.standing_grants))
        return Session(
            conversation=begun,
            journal=JournalWriter(self.journal),
            session_id=self.checkpoint.resume_id,
            caller=self.state.meta.caller,
            stats=from_journal(self.state.counters),
            resumed=True,
            standing=standing if keeps_grants else (),
            one_shot=self.state.one_shot_approvals if keeps_grants else {},
            doubtful_call=doubtful_call,
            approved_since=approved_since(records) if keeps_grants else {},
            held=self._held(),
            advisories=self._advisories(dropped=0 if keeps_grants else len(standing)),
        )

    @property
    def _keeps_grants(self) -> bool:
        return not (self.drift.tools or self.drift.blocking)

    def _held(self) -> HeldApproval | None:
        """Return the decision brought along, as far as it counts for the tools that are there now.

        Whoever said always spoke of the tools of then: for others it allows this one call, and only
        with the arguments that were shown.
        """
        held = self.checkpoint.approval
        if held is None or held.choice != "always" or self._keeps_grants:
            return held
        return replace(held, choice="once") if held.args_sha256 else None

    async def _claim(self) -> None:
        options = self.setup.options
        by = options.claimed_by or _claimant(self.setup.config.identity)
        try:
            await self._write(Claim(by=by, claimed=rfc3339_now()))
        except LockedError as exc:
            raise LockedError(
                f'another process took session "{self.checkpoint.resume_id}" while this one was '
                "starting; nothing ran here"
            ) from exc

    async def _answered(self) -> RunState:
        """Write the answer under the claim; the call it closes is then never dispatched again."""
        answer = self.answer
        if answer is None:
            return self.state
        content = clean_surrogates(answer.content)
        block = ToolResultBlock(answer.tool_use_id, content, is_error=answer.is_error)
        await self._write(ToolResult(tool_use_id=answer.tool_use_id, result=block))
        return fold(await self.journal.records())

    async def _keep_approval(self) -> None:
        """Make a one-shot approval outlive a crash before its call; a standing one only waits."""
        held, pending = self._held(), self.state.pending
        if held is None or held.choice != "once" or pending is None:
            return
        calls = conversation.calls_of(pending.assistant.message.content)
        names = [call.name for call in calls if call.id == held.tool_use_id]
        if not names or held.tool_use_id in pending.answered | set(pending.deferred):
            return
        await self._write(
            CallApproval(
                tool_use_id=held.tool_use_id, tool_name=names[0], args_sha256=held.args_sha256
            )
        )

    async def _mend_context(self, begun: Conversation) -> None:
        if self.context:
            await add_context(self.journal, self.context)
            begun.prompt(context_blocks(self.context))

    async def _write(self, payload: Claim | CallApproval | ToolResult) -> None:
        await self.journal.append(self.journal.last_seq() + 1, payload)

    def _cap(self, records: Sequence[Record]) -> int:
        allowance = self.setup.config.llm.budget.max_iterations
        if self.checkpoint.follow_up or self.setup.interactive:
            return self.state.next_iteration + allowance
        return _turn_start(records) + allowance

    def _advisories(self, *, dropped: int) -> tuple[Advisory, ...]:
        found: list[Advisory] = []
        if dropped:
            found.append(Advisory(kind="approvals_dropped", count=dropped))
        if self.drift.blocking:
            found.append(Advisory(kind="config_drift", params=self.drift.blocking))
        if self.drift.tools:
            found.append(Advisory(kind="tool_set_drift"))
        if self.drift.budget:
            found.append(Advisory(kind="budget_drift", params=self.drift.budget))
        if self.state.pending is None and self.state.last_stop_reason == conversation.PAUSED:
            found.append(Advisory(kind="resume_paused_turn"))
        return tuple(found)


def _turn_start(records: Sequence[Record]) -> int:
    """Return the iteration at which the turn in hand began; the cap counts from there."""
    start = following = 0
    for record in records:
        if isinstance(record.payload, Assistant):
            following = record.payload.iteration + 1
        elif isinstance(record.payload, User):
            start = following
    return start


def _seed_memory(state: RunState) -> None:
    """Let the run update what the session has read, as if it had never stopped."""
    memory = scope.current()
    if memory is not None:
        memory.seed(state.scope_seed)


def _claimant(identity: str) -> str:
    return f"{identity}@{socket.gethostname()} pid {os.getpid()}"
