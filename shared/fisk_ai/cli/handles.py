"""What ``--resume`` names: a session of this store, or a conversation by its token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fisk_ai.errors import EmptyError, InvalidIdError, NotFoundError, RefusedError, UsageError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.text.ids import valid_token
from fisk_ai.text.sanitise import for_terminal

if TYPE_CHECKING:
    from fisk_ai.llm.model import Message
    from fisk_ai.sessions.state import RunState
    from fisk_ai.sessions.store import Store

TOKEN_LIMIT = 128
"""The longest token the protocol carries."""

SCRIPTED = "scripted"
"""The provider that plays a script in the place of a model."""

_SHOWN_LIMIT = 40
"""Code points of a handle that names nothing, in the sentence that refuses it."""


class FinishedError(RefusedError):
    """The session has nothing to continue; ``messages`` hold how it ended."""

    def __init__(self, session_id: str, messages: Sequence[Message]) -> None:
        """Say so by name."""
        super().__init__(
            f'session "{session_id}" has already completed; this is its answer, and nothing ran',
            key="--resume",
        )
        self.messages = messages


@dataclass(frozen=True, slots=True)
class Handle:
    """A conversation to continue; both empty for a new one.

    ``session_id`` is empty for a handle that is a token. The token is a secret and never shown.
    ``state`` is what the session said when it was looked up.
    """

    token: str = ""
    session_id: str = ""
    state: RunState | None = field(default=None, repr=False, compare=False)


async def find_handle(
    store: Store, text: str, *, identity: str, scripted: bool, chat: bool = False
) -> Handle:
    """Look ``text`` up as a session id; what is none, or not there, is taken for a token.

    A token of the agent ``identity`` whose session is in the store is treated like that session's
    id. ``scripted`` says whether a script plays the model now, ``chat`` whether prompts are to
    follow.

    Raises:
        FinishedError: the session is complete and no prompt follows; whoever asks shows its
            stored answer, which a process that died may not have delivered.
        RefusedError: the session has no token, so no request can name it, or no record; or a
            script played its model and none does now.
        UsageError: it could be neither.
        StoreError: the session is there and cannot be read.
    """
    session_id, state = text, await _load(store, text)
    if state is None:
        session_id = session_id_for_token(identity, as_token(text))
        state = await _load(store, session_id)
    if state is None:
        return Handle(token=text)
    if state.status == "completed" and not chat:
        raise FinishedError(session_id, state.messages)
    if state.meta.fingerprint.provider == SCRIPTED and not scripted:
        raise RefusedError(
            f'the model of session "{session_id}" was played by a script; resume it with '
            "--script FILE",
            key="--script",
        )
    token = state.meta.conversation_token
    if not token:
        raise RefusedError(
            f'session "{session_id}" cannot be continued: it was written before conversations had '
            f"tokens, and is readable with 'fisk-ai session show {session_id}'",
            key="--resume",
        )
    return Handle(token=token, session_id=session_id, state=state)


async def _load(store: Store, session_id: str) -> RunState | None:
    try:
        return await store.load(session_id)
    except (NotFoundError, InvalidIdError):
        return None
    except EmptyError as exc:
        raise RefusedError(
            f'session "{session_id}" was interrupted before it began; send its prompt again',
            key="--resume",
        ) from exc


def as_token(text: str) -> str:
    """Return ``text`` where it can be a conversation's token.

    Raises:
        UsageError: it cannot.
    """
    if valid_token(text) and len(text) <= TOKEN_LIMIT:
        return text
    raise UsageError(
        f'--resume "{for_terminal(text, _SHOWN_LIMIT)}" is neither a session id nor a '
        "conversation token; 'fisk-ai session ls' lists the sessions",
        key="--resume",
    )
