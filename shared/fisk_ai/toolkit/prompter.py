"""Asking a person: the contract every surface implements, and the one that asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from fisk_ai.errors import DeferredError, FiskError, PromptAbortedError

Choice = Literal["no", "once", "always"]

NO_OPERATOR_REASON = "no interactive terminal is attached, so no operator could be asked"

IN_DOUBT_PREFIX = "(may already have run) "
"""Begins the display of a call in doubt, so that a surface that knows no better shows it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """A gated call as a person sees it.

    ``display`` is the whole sanitised command line, which begins with the command;
    ``args_sha256`` binds the answer to these exact arguments. ``tag`` is empty where no tag asks
    for a person: such a call is asked about because it is in doubt.
    """

    tool_use_id: str
    command: str
    display: str
    tag: str
    args_sha256: str

    @property
    def in_doubt(self) -> bool:
        """Whether this call may have run already, in a run that was cut off."""
        return self.display.startswith(IN_DOUBT_PREFIX)


class Prompter(Protocol):
    """A way to a person. It reports; whoever asks decides what silence means.

    Every method raises :class:`~fisk_ai.errors.PromptAbortedError` when the question was
    interrupted, :class:`~fisk_ai.errors.DeferredError` when the answer comes later, and any
    other error when nobody could be asked.
    """

    def can_prompt(self) -> bool:
        """Say whether anybody can be reached."""
        ...

    async def approve(self, request: GateRequest) -> Choice:
        """Ask whether a gated call may run."""
        ...

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Ask a yes-or-no question."""
        ...

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Ask for one of ``options``; a negative index means that none was chosen."""
        ...

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Ask for a text; an empty one is an answer."""
        ...


class DefaultDenyPrompter:
    """Asks nobody; what a run gets when its channel brings no prompter."""

    def can_prompt(self) -> bool:
        """Nobody is there."""
        return False

    async def approve(self, request: GateRequest) -> Choice:
        """Refuse to ask about ``request``."""
        raise FiskError(NO_OPERATOR_REASON)

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Refuse to ask."""
        raise FiskError(NO_OPERATOR_REASON)

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Refuse to ask."""
        raise FiskError(NO_OPERATOR_REASON)

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Refuse to ask."""
        raise FiskError(NO_OPERATOR_REASON)


class ParkingPrompter(DefaultDenyPrompter):
    """Asks nobody now: a gate waits for an operator, who decides about it from elsewhere.

    A call that an operator approved already runs. Questions find nobody, unless they are ``kept``:
    then they wait as well.
    """

    def __init__(self, *, kept: bool = False) -> None:
        """``kept`` is for runs that an operator set going, who can answer as well."""
        self._kept = kept

    def can_prompt(self) -> bool:
        """Somebody decides, if not now."""
        return True

    async def approve(self, request: GateRequest) -> Choice:
        """Park the run."""
        raise PromptAbortedError(
            f"call {request.tool_use_id} waits for an operator, who approves or denies it"
        )

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Ask nobody; raises as :meth:`input`."""
        raise self._unasked(tool_use_id)

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Ask nobody; raises as :meth:`input`."""
        raise self._unasked(tool_use_id)

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Ask nobody.

        Raises:
            DeferredError: the question is kept for an operator.
            FiskError: it is not.
        """
        raise self._unasked(tool_use_id)

    def _unasked(self, tool_use_id: str) -> FiskError:
        if self._kept:
            return DeferredError("the question waits for an operator", tool_use_id)
        return FiskError(NO_OPERATOR_REASON)


def absent(approvals: str) -> Prompter:
    """Return the prompter of a channel that reaches nobody; ``approvals`` is its key's word."""
    return ParkingPrompter() if approvals == "park" else DefaultDenyPrompter()
