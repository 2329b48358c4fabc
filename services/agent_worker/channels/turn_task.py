"""One durable turn that runs: its outcome is waited for by whoever holds its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from agent_worker.channels.admission import Admission, Slot
from agent_worker.channels.task import Questions, Task
from agent_worker.channels.terminals import facts_of, terminal_of
from fisk_ai.a2a.codes import disposition
from fisk_ai.a2a.durable.reply_set import DurableSet
from fisk_ai.a2a.messages import RunRequest, Terminal
from fisk_ai.errors import LockedError, StoreError
from fisk_ai.serving.contract import Outcome
from fisk_ai.toolkit.prompter import DefaultDenyPrompter


class TurnTask(Task):
    """Holds what the run of one turn holds; its ending is told by the turn's own steps."""

    def __init__(
        self,
        reply_set: DurableSet,
        request: RunRequest,
        *,
        admission: Admission,
        slot: Slot,
        questions: Questions,
    ) -> None:
        super().__init__(
            reply_set,
            request,
            admission=admission,
            slot=slot,
            questions=questions,
            absent=DefaultDenyPrompter(),
        )
        self.stored_set = reply_set
        self.follow_up = False
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    async def done(self, outcome: Outcome) -> None:
        """Pass the outcome on, and return once the turn is settled."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)
        await self.over.wait()

    def terminal(self, outcome: Outcome) -> Terminal:
        """Return how the thread is told of ``outcome``."""
        started = self.narration.started
        facts = facts_of(outcome, follow_up=self.follow_up, started=started)
        stats = outcome.stats if started or outcome.reason == "completed" else None
        return terminal_of(self.reply_set, disposition(facts), answer=outcome.text, stats=stats)

    def is_paused(self, outcome: Outcome) -> bool:
        """Say whether this worker's own end stopped the run, so that the next one goes on."""
        if outcome.abandoned or (outcome.canceled and outcome.reason is None):
            return True
        parked = outcome.reason == "suspended" and not outcome.deferred
        return parked and self._admission.draining and not self._cancelled

    def is_locked_out(self, outcome: Outcome) -> bool:
        """Say whether the session was somebody else's, before this run had taken it."""
        return isinstance(outcome.error, LockedError) and not self.narration.started

    def has_lost(self, outcome: Outcome) -> bool:
        """Say whether somebody else took the session while it ran."""
        causes = _causes(outcome.error)
        return self.narration.started and any(isinstance(each, LockedError) for each in causes)


def store_failed(error: BaseException | None) -> bool:
    """Say whether sessions could not be reached; what is recorded is safe."""
    return any(type(each) is StoreError for each in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
