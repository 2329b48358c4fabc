"""The channels whose turns are durable: their token in subjects, and how their threads are named.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fisk_ai.errors import ProtocolError
from fisk_ai.sessions.ids import SLACK_PREFIX, session_id_for_thread
from fisk_ai.text.ids import valid_session_id


@dataclass(frozen=True, slots=True)
class Channel:
    """A gateway's kind; ``parts`` is how many texts name one of its threads."""

    name: str
    prefix: str
    parts: int

    def session(self, identity: str, thread: tuple[str, ...]) -> str:
        """Return the session of a thread.

        Raises:
            ProtocolError: it is named by another number of parts.
        """
        if len(thread) != self.parts:
            raise ProtocolError(
                f"a thread of the channel {self.name} is named by {self.parts} parts,"
                f" not by {len(thread)}"
            )
        return session_id_for_thread(self.prefix, identity, thread)

    def checked_session(self, session: str) -> str:
        """Return ``session`` if it is of a thread of this channel.

        Raises:
            ProtocolError: it is not.
        """
        if not (valid_session_id(session) and session.startswith(self.prefix)):
            raise ProtocolError(f"the session is none of the channel {self.name}")
        return session

    def thread_of(self, session: str) -> str:
        """Return the token of a session's thread in subjects: its hash."""
        return session.removeprefix(self.prefix)


SLACK: Final = Channel("slack", SLACK_PREFIX, parts=3)
"""Threads named by team, channel and the thread's first message."""

BY_NAME: Final = {channel.name: channel for channel in (SLACK,)}
"""Channels by their token in subjects."""
