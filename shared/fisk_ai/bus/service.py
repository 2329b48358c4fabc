"""The micro service of one agent: its endpoints, and what ``$SRV`` asks of it.

nats-py has a service of its own; it answers ``$SRV`` requests to whatever reply subject they name,
serves one request at a time and tells callers the text of exceptions. Here all subjects, also the
``$SRV`` ones, go through the guard of :mod:`fisk_ai.bus.guard`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fisk_ai.bus.guard import DEFAULT_BOUND, Guard, Watch, close_all
from fisk_ai.bus.messages import Handler, Inbound

DESCRIPTION = "a2a protocol endpoint for this agent"
"""What a service says of itself unless it is told otherwise."""

_TYPE = "io.nats.micro.v1.{}_response"


@dataclass(slots=True)
class _Endpoint:
    name: str
    subject: str
    handler: Handler
    watch: Watch | None = None
    requests: int = 0
    failures: int = 0
    last_error: str = ""
    busy_ns: int = 0

    async def serve(self, request: Inbound) -> None:
        started = time.perf_counter_ns()
        self.requests += 1
        try:
            await self.handler(request)
        except Exception:
            self.failures += 1
            self.last_error = "500: internal"
            raise
        finally:
            self.busy_ns += time.perf_counter_ns() - started
        if request.refused:
            self.failures += 1
            self.last_error = request.refused


@dataclass(slots=True)
class Service:
    """Endpoints under one name; its queue group is that name, shared with every other worker."""

    guard: Guard
    identity: str
    version: str = "0.0.0"
    description: str = ""
    unique: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    _endpoints: list[_Endpoint] = field(default_factory=list["_Endpoint"])
    _control: list[Watch] = field(default_factory=list[Watch])
    _started: str = ""

    async def start(self) -> None:
        """Answer ``PING``, ``INFO`` and ``STATS`` for all services, this name and this one."""
        self._started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        answers = {"PING": self._ping, "INFO": self._info, "STATS": self._stats}
        for verb, answer in answers.items():
            for scope in ("", f".{self.identity}", f".{self.identity}.{self.unique}"):
                handler = _answering(answer)
                watch = await self.guard.listen(
                    f"$SRV.{verb}{scope}", handler, queue="", bound=DEFAULT_BOUND
                )
                self._control.append(watch)

    async def add_endpoint(
        self, name: str, subject: str, handler: Handler, *, bound: int = DEFAULT_BOUND
    ) -> None:
        """Serve ``subject`` together with every other service of this name.

        Raises:
            BusError: the subject is none, or the connection is gone.
        """
        endpoint = _Endpoint(name, subject, handler)
        endpoint.watch = await self.guard.listen(
            subject, endpoint.serve, queue=self.identity, bound=bound
        )
        self._endpoints.append(endpoint)

    async def stop(self) -> None:
        """Leave the queue group and wait for the requests already taken; twice is harmless."""
        watches = [endpoint.watch for endpoint in self._endpoints if endpoint.watch is not None]
        await close_all((*watches, *self._control))
        self._control.clear()

    def _head(self, kind: str) -> dict[str, object]:
        return {
            "type": _TYPE.format(kind),
            "name": self.identity,
            "id": self.unique,
            "version": self.version,
            "metadata": self.metadata,
        }

    def _ping(self) -> Mapping[str, object]:
        return self._head("ping")

    def _info(self) -> Mapping[str, object]:
        endpoints = [
            {
                "name": endpoint.name,
                "subject": endpoint.subject,
                "queue_group": self.identity,
                "metadata": dict[str, str](),
            }
            for endpoint in self._endpoints
        ]
        return {
            **self._head("info"),
            "description": self.description or DESCRIPTION,
            "endpoints": endpoints,
        }

    def _stats(self) -> Mapping[str, object]:
        endpoints = [
            {
                "name": endpoint.name,
                "subject": endpoint.subject,
                "queue_group": self.identity,
                "num_requests": endpoint.requests,
                "num_errors": endpoint.failures,
                "last_error": endpoint.last_error,
                "processing_time": endpoint.busy_ns,
                "average_processing_time": endpoint.busy_ns // max(endpoint.requests, 1),
                "data": None,
            }
            for endpoint in self._endpoints
        ]
        return {**self._head("stats"), "started": self._started, "endpoints": endpoints}


def _answering(answer: Callable[[], Mapping[str, object]]) -> Handler:
    async def handle(request: Inbound) -> None:
        if request.reply:
            await request.respond(json.dumps(answer(), separators=(",", ":")).encode())

    return handle
