"""A caller that never gives a prompt up, and the books that say whether anything ran twice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fisk_ai.a2a.client import AgentClient, ClientLimits
from fisk_ai.a2a.messages import (
    ErrorTerminal,
    RequestPrompt,
    RequestResume,
    Sender,
    request_header,
)
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import BusError, PeerError, StoreError
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Record, ToolResult
from fisk_ai.sessions.store import Filter, Store
from fisk_ai.testing.application import RecordedCall
from fisk_ai.testing.caller import RecordingCaller

IMPATIENT = ClientLimits(
    first_message_s=2.0, probe_s=0.5, return_s=0.5, idle_s=20.0, lost_s=0.3, control_s=2.0
)
"""A worker that was killed is noticed within a second."""

PAUSE_S = 0.2
"""Between two attempts: short beside the seconds in which a dead holder is asked after."""

_AGAIN = frozenset({"capacity", "draining", "conversation_busy", "duplicate_request"})
"""Endings before anything ran, which pass by themselves."""

_RESUMED = frozenset({"suspended", "canceled", "crashed", "not_started", "failed"})
"""Endings after which a conversation goes on, unless it is complete."""


_UNKNOWN = "unknown_conversation"


class LostError(Exception):
    """A prompt ended in a way that nobody can go on from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    answer: str = ""
    token: str = ""
    code: str = ""


@dataclass(slots=True)
class Persistent:
    """Asks agent ``identity``, and goes on with what a death left, until there is an answer.

    ``store`` tells the answer of a run that was complete when its worker died.
    """

    connection: Connection
    identity: str
    store: Store
    attempts: int = field(default=0, init=False)

    async def ask(self, prompt: str) -> str:
        """Return the answer.

        Raises:
            LostError: there is none to be had.
        """
        request: RequestPrompt | RequestResume = self._prompt(prompt)
        while True:
            tried = await self._once(request)
            if answer := tried.answer or await self._recorded(tried.token):
                return answer
            began = tried.code not in _AGAIN and tried.code != _UNKNOWN
            if tried.token and (began or isinstance(request, RequestResume)):
                request = self._resume(tried.token)
            if tried.code == _UNKNOWN or isinstance(request, RequestPrompt):
                request = self._prompt(prompt)  # its worker died before the first record
            await asyncio.sleep(PAUSE_S)

    async def _once(self, request: RequestPrompt | RequestResume) -> _Tried:
        self.attempts += 1
        client = AgentClient(self.connection, self.identity, "tester", limits=IMPATIENT)
        handlers = RecordingCaller()
        known = request.conversation_token
        try:
            end = await client.run(request, handlers)
        except (PeerError, BusError):
            return _Tried(token=handlers.token if handlers.acks else known)
        terminal = end.terminal
        if not isinstance(terminal, ErrorTerminal):
            return _Tried(answer=terminal.text)
        if terminal.code not in _AGAIN | _RESUMED | {_UNKNOWN}:
            raise LostError(f"{terminal.code}: {terminal.error}")
        return _Tried(token=end.token or known, code=terminal.code)

    async def _recorded(self, token: str) -> str:
        if not token:
            return ""
        try:
            state = await self.store.load(session_id_for_token(self.identity, token))
        except (StoreError, BusError):
            return ""
        return answer_of(state.messages) if state.status == "completed" else ""

    def _prompt(self, text: str) -> RequestPrompt:
        header = request_header(Sender(name="tester"), self.identity)
        return RequestPrompt(**header, prompt=text)

    def _resume(self, token: str) -> RequestResume:
        header = request_header(Sender(name="tester"), self.identity)
        return RequestResume(**header, conversation_token=token)


@dataclass(slots=True)
class Books:
    """What the journals say against what really ran.

    ``recorded`` counts results, ``repeated`` those whose command ran once more although its result
    was recorded, or that were recorded twice; ``spare`` counts commands that ran and whose result
    never was recorded, which a death may cost.
    """

    sessions: int = 0
    recorded: int = 0
    repeated: int = 0
    spare: int = 0

    @classmethod
    async def audit(cls, store: Store, calls: Sequence[RecordedCall]) -> Books:
        """Compare; each command has to print its process id behind its words."""
        books, started = cls(), _pids(calls)
        for row in await store.list(Filter()):
            books.sessions += 1
            books.add(row.run_id, await store.records(row.run_id), started)
        return books

    def add(self, session: str, records: Sequence[Record], started: dict[str, list[str]]) -> None:
        """Compare one session; ``started`` are the process ids of each call, in their order."""
        seen: set[str] = set()
        for record in records:
            if not isinstance(record.payload, ToolResult):
                continue
            self.recorded += 1
            call = record.payload.tool_use_id
            self.repeated += call in seen
            seen.add(call)
            pids = started.get(f"{session}/{call}", [])
            self.spare += max(len(pids) - 1, 0)
            # Recorded is the one that ran last: whatever ran behind it repeated a recorded step.
            said = re.findall(r"\d+", repr(record.payload.result))
            self.repeated += not pids or pids[-1] not in said


def _pids(calls: Sequence[RecordedCall]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for call in calls:
        found.setdefault(call.call_ref, []).append(str(call.pid))
    return found
