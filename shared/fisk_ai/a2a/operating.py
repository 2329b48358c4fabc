"""What an operator asks of a session by its id, and what its agent says of it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from fisk_ai.a2a.header import (
    NAMESPACE,
    Digest,
    Header,
    Part,
    SessionId,
    ToolUseId,
    Word,
)
from fisk_ai.a2a.requests import Kind

WaitingKind = Kind | Literal["deferred"]
"""What a call waits for: a person's answer of that kind, or one that a program supplies."""


class OpenQuestion(Part, frozen=True, kw_only=True):
    """A question that a run waits on now; ``text`` is what a person is shown.

    ``args_sha256`` binds an approval to the arguments; ``options`` are those of a select question.
    """

    question_id: Word
    kind: Kind
    tool_use_id: ToolUseId = ""
    text: str = ""
    options: tuple[str, ...] = ()
    args_sha256: Digest = ""


class WaitingCall(Part, frozen=True, kw_only=True):
    """A call of a parked session; ``arguments`` are its exact JSON, absent where it is too long.

    ``since`` is an RFC 3339 time, empty where the journal has none. A call ``in_doubt`` may have
    run already; an ``unasked`` question is one that no run waits for, the next one asks it.
    """

    tool_use_id: ToolUseId
    kind: WaitingKind
    tool: str
    question: str = ""
    since: str = ""
    arguments: str = ""
    args_sha256: Digest = ""
    in_doubt: bool = False
    unasked: bool = False
    approved: bool = False


class OperatorStatus(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.operator.status"):
    """Ask how a session stands; its name is left out where the subject says it."""

    session: SessionId = ""


class OperatorState(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.operator.state"):
    """How a session stands.

    A ``held`` one is run for the request ``task``, since an RFC 3339 time, and may wait on a
    ``question``. Any other has a ``status`` from its journal, and calls that wait.
    """

    held: bool
    task: str = ""
    since: str = ""
    question: OpenQuestion | UnsetType = UNSET
    status: str = ""
    waiting: tuple[WaitingCall, ...] = ()
