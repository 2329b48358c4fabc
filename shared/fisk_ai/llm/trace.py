"""The trace of a model's traffic: one JSON line per event, for whoever has to see what was sent.

It holds whole conversations and no header, so never the key. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fisk_ai.llm.model import Usage
from fisk_ai.llm.private_file import PrivateFile
from fisk_ai.llm.provider import HttpCall, HttpMiddleware, HttpRequest, HttpResponse
from fisk_ai.text.gojson import RawJSON, dumps, loads

KEYS: Final = (
    *("type", "id", "iter", "attempt", "time", "method", "url", "status", "status_code"),
    *("duration_ms", "body", "body_unavailable", "error", "model", "config", "version"),
    *("session", "suspended", "llm_calls", "tool_calls", "remote_tool_calls"),
    *("tool_calls_by_kind", "input_tokens", "output_tokens", "cache_read_tokens"),
    "cache_create_tokens",
)
"""Every key of every line, in the order they are written."""

_NS: Final = 1_000_000_000
_Line = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """What a run did, for the line that closes it in a trace; ``duration_ms`` is the run's own."""

    session: str
    suspended: bool
    llm_calls: int
    tool_calls: int
    remote_tool_calls: int
    by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0


class TraceFile:
    """A trace that is being written; any number of runs may share it.

    No failure of the file ever reaches a run: ``take_failure`` tells the first one, once, and
    nothing is written afterwards.
    """

    __slots__ = ("_attempts", "_file")

    def __init__(self, file: PrivateFile) -> None:
        """Write to ``file``; ``create`` makes one."""
        self._file = file
        self._attempts = 0

    @classmethod
    def create(cls, path: Path, *, model: str, config: str, version: str) -> TraceFile:
        """Begin a trace in a new file of mode 0600; ``config`` is the name of the ``agent.yaml``.

        Raises:
            SetupError: ``creating trace file: ...``, also when the file exists.
        """
        session = {"model": model, "config": config, "version": version}
        opening = _spelled("session", _now(), session, b"")
        return cls(PrivateFile.create(path, what="trace file", opening=opening))

    @property
    def middleware(self) -> HttpMiddleware:
        """Return what a provider shows its HTTP attempts to."""
        return self._show

    async def summary(self, summary: TraceSummary) -> None:
        """Write what a run did; never raises."""
        usage = summary.usage
        line: _Line = {
            "session": summary.session,
            "suspended": summary.suspended,
            "llm_calls": summary.llm_calls,
            "tool_calls": summary.tool_calls,
            "remote_tool_calls": summary.remote_tool_calls,
            "tool_calls_by_kind": dict(sorted(summary.by_kind.items())),
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_create_tokens": usage.cache_create,
            "duration_ms": summary.duration_ms,
        }
        await self._write("summary", line)

    def take_failure(self) -> str:
        """Return why a line could not be written, once; empty while everything was."""
        return self._file.take_failure()

    async def close(self) -> None:
        """Close the file; lines that come later are dropped."""
        await self._file.close()

    async def _show(self, request: HttpRequest, call: HttpCall) -> HttpResponse:
        self._attempts += 1
        ids: _Line = {"id": self._attempts, "iter": request.iteration, "attempt": request.attempt}
        asked: _Line = {"method": request.method, "url": request.url}
        asked["body_unavailable"] = request.body is None
        await self._write("request", ids | asked, request.body)
        began = time.monotonic()
        try:
            response = await call(request)
        except BaseException as exc:
            error: _Line = {"duration_ms": _since_ms(began), "error": str(exc)}
            await self._write("error", ids | error)
            raise
        answer: _Line = {
            "status": f"{response.status} {response.reason}".rstrip(),
            "status_code": response.status,
            "duration_ms": _since_ms(began),
            "error": response.error,
        }
        await self._write("response", ids | answer, response.body)
        return response

    async def _write(self, kind: str, line: _Line, body: bytes | None = None) -> None:
        now = _now()
        await self._file.append(lambda: _spelled(kind, now, line, body or b""))


def _spelled(kind: str, now: str, line: Mapping[str, object], body: bytes) -> bytes:
    """Return a line; what is empty is left out, but for ``iter``, whose first value is 0."""
    found = {**line, "type": kind, "time": now, "body": _body(body)}
    kept = {key: found[key] for key in KEYS if found.get(key) or _is_first(key, found.get(key))}
    return dumps(kept) + b"\n"


def _is_first(key: str, value: object) -> bool:
    return key == "iter" and value is not None


def _body(raw: bytes) -> object:
    """Return a body in its own spelling when it is JSON, and as a text when it is not."""
    try:
        loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")
    return RawJSON(raw)


def _since_ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


def _now() -> str:
    """Return the local time in RFC 3339, with nanoseconds and the offset from UTC."""
    seconds, fraction = divmod(time.time_ns(), _NS)
    local = datetime.fromtimestamp(seconds, tz=UTC).astimezone().isoformat()
    date, offset = local[:19], local[19:]
    return f"{date}.{fraction:09d}{offset}"
