"""Which session a word of a command line names: by its id, or a conversation by its token.

A token is a secret and looks like an id, so a word that names nothing is never shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from fisk_ai.errors import InvalidIdError, NotFoundError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.store import Filter, Store
from fisk_ai.text.ids import valid_token

T = TypeVar("T")


async def named(store: Store, word: str, read: Callable[[str], Awaitable[T]]) -> T:
    """Return what ``read`` returns of the session that ``word`` names.

    A token counts for every agent that has a session in the store.

    Raises:
        NotFoundError: it names none.
        InvalidIdError: it can name none; a word that cannot be a token is shown.
        StoreError: as ``read``, and :meth:`fisk_ai.sessions.store.Store.list`.
    """
    try:
        return await read(word)
    except InvalidIdError:
        if not valid_token(word):
            raise
    except NotFoundError:
        pass
    agents = {row.agent for row in await store.list(Filter())} if valid_token(word) else set[str]()
    for agent in sorted(agents - {""}):
        with suppress(NotFoundError):
            return await read(session_id_for_token(agent, word))
    raise NotFoundError(
        "there is no session by that id and no conversation by that token; "
        "'fisk-ai session ls' lists what there is"
    )
