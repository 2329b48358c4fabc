"""Who may allow a gated call: a person, now or earlier, and nobody else.

The checks stand in a fixed order. Whether anybody can be asked comes before every grant, so that
a grant restored from a journal runs nothing with nobody present. There is no standing denial.
Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from fisk_ai.errors import DeferredError, PromptAbortedError
from fisk_ai.text import gojson, sanitise
from fisk_ai.toolkit.prompter import (
    IN_DOUBT_PREFIX,
    NO_OPERATOR_REASON,
    Choice,
    GateRequest,
    Prompter,
)

if TYPE_CHECKING:
    from fisk_ai.sessions.records import CallApproval

IN_DOUBT_REASON = "outcome unknown: the worker stopped while this ran; check before repeating"
FINAL = "; the decision is final, do not retry it"
"""What a model is told beside the reason; a person needs no such advice."""
DECLINED_REASON = f"the operator declined this call{FINAL}"

T = TypeVar("T")

CHAIN_LIMIT = 128
"""Exceptions looked at for one that matters; a chain may be made circular by hand."""

CAUSE_LIMIT = 500
"""Code points of a prompt failure quoted to the model; it may come from a peer."""


class Held(Protocol):
    """A decision that arrived after its question had closed."""

    @property
    def tool_use_id(self) -> str:
        """Return the call it was given for."""
        ...

    @property
    def choice(self) -> Choice:
        """Return what the person said."""
        ...

    @property
    def args_sha256(self) -> str:
        """Return the digest of the arguments they saw; empty when it was not kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gate says of one call.

    ``granted`` names the tool that was given a standing grant by this very answer: the caller
    journals it once the call is answered or deferred. ``is_error`` marks a refusal that says the
    outcome of an earlier attempt is unknown; any other refusal is an ordinary result.
    """

    allowed: bool
    reason: str = ""
    granted: str | None = None
    is_error: bool = False

    @property
    def cause(self) -> str:
        """Return the reason as a person reads it, without advice to a model."""
        return self.reason.removesuffix(FINAL)

    def result_text(self) -> str:
        """Return what the model reads of a refusal."""
        if self.is_error:
            return self.reason
        return gojson.dumps({"allowed": False, "reason": self.reason}).decode()


class ConfirmGate:
    """The gate of one run; used from one task, never shared.

    ``standing`` and ``one_shot`` come from the journal; ``held`` is a decision this run was
    started with. Grants made here count at once.
    """

    def __init__(
        self,
        prompter: Prompter,
        *,
        standing: Iterable[str] = (),
        one_shot: Mapping[str, CallApproval] | None = None,
        held: Held | None = None,
    ) -> None:
        self._prompter = prompter
        self._standing = set(standing)
        self._one_shot = dict(one_shot or {})
        self._held = held

    @property
    def standing(self) -> tuple[str, ...]:
        """Return the tools with a standing grant, sorted."""
        return tuple(sorted(self._standing))

    def needs_renewal(self, tool_use_id: str) -> bool:
        """Say whether the journal's approval of this call has no fresh decision behind it."""
        held = self._held is not None and self._held.tool_use_id == tool_use_id
        return tool_use_id in self._one_shot and not held

    async def approve(
        self,
        request: GateRequest,
        tool_name: str,
        *,
        fresh_only: bool = False,
        cancelled: Callable[[], bool],
    ) -> Decision:
        """Decide one call of the tool with the effective name ``tool_name``.

        ``fresh_only`` is for a call that may have run already: journaled grants do not count,
        the question says so, and every refusal is :data:`IN_DOUBT_REASON`.

        Raises:
            PromptAbortedError: the run is over or the question was interrupted: no decision.
            DeferredError: the answer comes later.
        """
        if not self._prompter.can_prompt():
            return _refusal(NO_OPERATOR_REASON, fresh_only=fresh_only)
        if cancelled():
            raise PromptAbortedError("the run ended before anybody was asked")
        if tool_name in self._standing and not fresh_only:
            return Decision(allowed=True)
        if self._spend_one_shot(request) and not fresh_only:
            return Decision(allowed=True)
        choice = self._take_held(request)
        if choice is None:
            shown = _in_doubt(request) if fresh_only else request
            choice = await attempt(self._prompter.approve(shown))
        if isinstance(choice, Unanswered):
            reason = f"the operator could not be asked: {choice.cause}{FINAL}"
            return _refusal(reason, fresh_only=fresh_only)
        return self._settle(choice, tool_name, fresh_only=fresh_only)

    def _settle(self, choice: Choice, tool_name: str, *, fresh_only: bool) -> Decision:
        if choice == "once":
            return Decision(allowed=True)
        if choice != "always":
            return _refusal(DECLINED_REASON, fresh_only=fresh_only)
        if tool_name in self._standing:
            return Decision(allowed=True)
        self._standing.add(tool_name)
        return Decision(allowed=True, granted=tool_name)

    def _spend_one_shot(self, request: GateRequest) -> bool:
        """Take the approval of this call out, fitting or not: it never counts twice."""
        approval = self._one_shot.pop(request.tool_use_id, None)
        return approval is not None and approval.args_sha256 in ("", request.args_sha256)

    def _take_held(self, request: GateRequest) -> Choice | None:
        held = self._held
        if held is None or held.tool_use_id != request.tool_use_id:
            return None
        self._held = None
        return held.choice if held.args_sha256 in ("", request.args_sha256) else None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that nobody could be asked; ``cause`` says why, cleaned and cut."""

    cause: str


async def attempt(question: Awaitable[T]) -> T | Unanswered:
    """Ask a person; what a failure to ask means is for the caller to say.

    Raises:
        PromptAbortedError: the question was interrupted.
        DeferredError: the answer comes later.
    """
    try:
        return await question
    except Exception as exc:
        control = control_error(exc)
        if control is exc:
            raise
        if control is not None:
            raise control from exc
        return Unanswered(sanitise.for_terminal(str(exc), CAUSE_LIMIT))


def control_error(error: BaseException) -> DeferredError | PromptAbortedError | None:
    """Find the deferral or interruption inside wrapping exceptions and groups of them."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < CHAIN_LIMIT:
        found = waiting.pop(0)
        if isinstance(found, DeferredError | PromptAbortedError):
            return found
        seen.add(id(found))
        waiting += [each for each in _inside(found) if id(each) not in seen]
    return None


def _inside(error: BaseException) -> list[BaseException]:
    """Return what ``error`` wraps."""
    cause = [] if error.__cause__ is None else [error.__cause__]
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return [*members, *cause]
    return cause


def _in_doubt(request: GateRequest) -> GateRequest:
    if request.in_doubt:
        return request
    return replace(request, display=IN_DOUBT_PREFIX + request.display)


def _refusal(reason: str, *, fresh_only: bool) -> Decision:
    if fresh_only:
        return Decision(allowed=False, reason=IN_DOUBT_REASON, is_error=True)
    return Decision(allowed=False, reason=reason)
