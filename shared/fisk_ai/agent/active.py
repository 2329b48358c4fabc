"""What the parts of one run share while it works; touched by the run's own task alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fisk_ai.agent.budget import require_left
from fisk_ai.agent.conversation import Conversation
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.events import EventSink
from fisk_ai.agent.hooks import Hooks
from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.agent.options import RunOptions, Stats
from fisk_ai.config import Config
from fisk_ai.errors import StoreError
from fisk_ai.sessions.records import CallApproval, Fingerprint, Payload
from fisk_ai.toolkit.contract import Advisory
from fisk_ai.toolkit.gate import ConfirmGate
from fisk_ai.toolkit.toolset import ToolSet


@dataclass(slots=True, kw_only=True)
class ActiveRun:
    """A run in progress.

    ``config`` is the run's own copy, its budget lowered already, and ``hooks`` are the caller's
    with the guard of personal data around them. ``spent_before`` are the tokens of conversations
    this run has left behind: they no longer count against the budget. ``doubtful_call`` is the
    call that may have run before this process took the session, and ``approved_since`` holds the
    approvals that count even for it. ``unknown_tools`` are the names that people were warned of.
    ``unrecorded`` is true from the moment a tool may have started until its result is durable: a
    run that stops there leaves no terminal record, so that the next one knows of the doubt.
    """

    options: RunOptions
    config: Config
    hooks: Hooks
    fingerprint: Fingerprint
    tools: ToolSet
    system_blocks: tuple[str, ...]
    conversation: Conversation
    journal: JournalWriter
    gate: ConfirmGate
    stats: Stats
    session_id: str = ""
    caller: str = ""
    spent_before: int = 0
    doubtful_call: str | None = None
    approved_since: Mapping[str, CallApproval] = field(default_factory=dict[str, CallApproval])
    staged_grants: list[str] = field(default_factory=list[str])
    unknown_tools: set[str] = field(default_factory=set[str])
    follow_up_taken: bool = False
    unrecorded: bool = False

    @property
    def events(self) -> EventSink:
        """Where the run tells what it does."""
        return self.options.events

    async def warn(self, kind: str, *, name: str = "", error: str = "", count: int = 0) -> None:
        """Raise an advisory."""
        await self.events.warn(Advisory(kind=kind, name=name, error=error, count=count))

    def heed_budget(self) -> None:
        """End the turn here if the conversation has spent its tokens.

        Raises:
            TurnOver: with ``budget``.
        """
        require_left(self.stats, self.config.llm.budget.max_tokens, before=self.spent_before)

    def heed_suspend(self) -> None:
        """End the turn here if the run was asked to park; one that journals nothing goes on.

        Raises:
            TurnOver: with ``suspended``; whatever was not begun is left for a resume.
        """
        if self.journal.enabled and self.options.suspend_requested():
            raise TurnOver("suspended")

    async def record(self, payload: Payload) -> None:
        """Write one record of the conversation.

        Raises:
            TurnOver: with ``error``; a run whose records are not durable must not go on.
        """
        try:
            await self.journal.write(payload)
        except StoreError as exc:
            raise TurnOver("error", StoreError(f"journaling run: {exc}")) from exc
