"""Which tasks may run here now: decided at once, in one place, and never queued.

Another worker of the same identity may be free, so a task that does not fit is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai.a2a.codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a task was not taken."""

    code: ErrorCode
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A place that one task holds from its admission to the end of its reply set."""

    request: str
    session: str


class Admission:
    """The slots of one worker. Not a lock: every method is one step of the event loop."""

    def __init__(self, workers: int) -> None:
        self.workers = max(workers, 1)
        self._by_request: dict[str, Slot] = {}
        self._by_session: dict[str, Slot] = {}
        self._draining = False

    @property
    def draining(self) -> bool:
        """Whether nothing is taken any more."""
        return self._draining

    def drain(self) -> None:
        """Take nothing from now on; what holds a slot keeps it."""
        self._draining = True

    def admit(self, request: str, session: str) -> Slot | Refusal:
        """Take a slot for ``request``, or say why there is none."""
        if self._draining:
            return Refusal("draining", "this worker is shutting down and takes no work; try again")
        if len(self._by_request) >= self.workers:
            return Refusal(
                "capacity", f"this worker is running its maximum of {self.workers} prompts"
            )
        if request in self._by_request:
            return Refusal("duplicate_request", "a request of that tag is running here already")
        if session in self._by_session:
            return Refusal("conversation_busy", "a turn of this conversation is running already")
        slot = Slot(request, session)
        self._by_request[request] = self._by_session[session] = slot
        return slot

    def release(self, slot: Slot) -> None:
        """Give ``slot`` back; one that is not held any more is left alone."""
        if self._by_request.get(slot.request) is slot:
            del self._by_request[slot.request]
            del self._by_session[slot.session]
