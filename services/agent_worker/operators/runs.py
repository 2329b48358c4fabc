"""The runs that go on in this process, by their sessions: looked at, stopped, and answered.

Whatever channel brought a piece of work, it is found here while it runs, so no channel has to
know of operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fisk_ai.a2a.elicit import CallerPrompter
from fisk_ai.serving.barrier import Runner
from fisk_ai.serving.contract import Outcome, Work
from fisk_ai.text.clock import rfc3339_now


@dataclass(slots=True)
class LiveRun:
    """One piece of work that runs; ``since`` is an RFC 3339 time."""

    work: Work
    since: str = field(default_factory=rfc3339_now)
    _stopped: bool = False

    @property
    def task(self) -> str:
        """The request or task that brought the work."""
        return self.work.claimed_by

    @property
    def prompter(self) -> CallerPrompter | None:
        """Who is asked; ``None`` where nobody is."""
        prompter = self.work.prompter
        return prompter if isinstance(prompter, CallerPrompter) else None

    def stopping(self) -> bool:
        """Say whether the run should park at its next boundary."""
        return self._stopped or self.work.suspend_requested()

    def stop(self) -> None:
        """Park the run at its next boundary, and give up what it asks."""
        self._stopped = True
        if self.prompter is not None:
            self.prompter.give_up()


class Runs:
    """The runs of one worker."""

    def __init__(self) -> None:
        self._by_session: dict[str, LiveRun] = {}

    def of(self, session: str) -> LiveRun | None:
        """Return who runs ``session`` here."""
        return self._by_session.get(session)

    def noting(self, runner: Runner) -> Runner:
        """Return ``runner`` so that whatever it does is found here meanwhile."""

        async def run_work(work: Work) -> Outcome:
            session = work.checkpoint.resume_id if work.checkpoint is not None else ""
            if not session or session in self._by_session:
                return await runner(work)
            run = self._by_session[session] = LiveRun(work)
            try:
                return await runner(replace(work, suspend_requested=run.stopping))
            finally:
                del self._by_session[session]

        return run_work
