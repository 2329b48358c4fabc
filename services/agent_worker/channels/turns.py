"""The channel of durable turns: what gateways put into a queue, answered into a stream.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from msgspec import UNSET

from agent_worker.channels import turn_tries
from agent_worker.channels.admission import Admission
from agent_worker.channels.task import Questions
from agent_worker.channels.turn_pull import TurnPull
from agent_worker.channels.turn_steps import Terms, TurnSteps
from agent_worker.channels.work import lowered
from fisk_ai.a2a.durable import publishing
from fisk_ai.a2a.durable.binding import Binding, bind
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.a2a.durable.reply_set import Level
from fisk_ai.a2a.durable.turn import of_session, request_of
from fisk_ai.a2a.messages import RequestAnswer, RequestResume, request_header
from fisk_ai.a2a.reply_set import KEEPALIVE_S
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.pulling import Delivery
from fisk_ai.config import Config
from fisk_ai.config.expose import DEFAULT_ELICIT_MAX_S, Slack
from fisk_ai.errors import BusError, ConfigError
from fisk_ai.serving.contract import ChannelDoneError, Work
from fisk_ai.sessions.store import Store
from fisk_ai.text.ids import ksuid

_log = logging.getLogger("agent_worker.turns")

KEY: Final = "expose.agent.slack"

SETTLE_S: Final = 10.0
"""How long a closing channel waits for turns that were taken and do not run yet."""


class TurnsChannel:
    """Serves the durable turns of one gateway's kind; concurrent, releasable and faulting.

    Build it, ``await start()``, then hand it to a server.
    """

    def __init__(
        self,
        config: Config,
        connection: Connection,
        streams: Callable[[], Awaitable[JetStream]],
        store: Store,
        *,
        keepalive_s: float = KEEPALIVE_S,
        delays_s: Sequence[float] = turn_tries.DELAYS_S,
    ) -> None:
        """``connection`` is where a running turn is reached, ``streams`` where its queue is.

        Raises:
            ConfigError: no channel of durable turns is enabled.
        """
        slack = config.expose.agent.slack
        if slack is None:
            raise ConfigError(f"{KEY} is not set, so this agent takes no durable turns", key=KEY)
        self._connection = connection
        self._streams = streams
        self._store = store
        self._terms = replace(_terms(config, slack), keepalive_s=keepalive_s, delays_s=delays_s)
        self._admission = Admission(slack.workers)
        self._ready: asyncio.Queue[Work | None] = asyncio.Queue()
        self._serving: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._pulling: asyncio.Task[None] | None = None
        self._pull: TurnPull | None = None
        self._binding: Binding | None = None

    @property
    def name(self) -> str:
        """The label in logs."""
        return SLACK.name

    def concurrency(self) -> int:
        """Return the number of turns served at once."""
        return self._admission.workers

    async def start(self) -> None:
        """Find the streams and begin to take turns.

        Raises:
            SetupError: a stream is missing, or could lose a turn.
            BusError: the broker is gone.
        """
        binding = await bind(await self._streams(), self._terms.identity, SLACK, key=KEY)
        self._binding = binding
        steps = TurnSteps(
            binding, self._connection, self._store, self._admission, self._terms, self._hand_over
        )
        pull = TurnPull(binding, self._admission.workers, lambda: self._look(binding))
        await pull.open()
        self._pull = pull
        self._pulling = asyncio.create_task(self._take(pull, steps), name="take turns")

    async def next(self) -> Work:
        """Wait for a turn that was acknowledged.

        Raises:
            ChannelDoneError: the channel was closed.
        """
        work = await self._ready.get()
        if work is None:
            self._ready.put_nowait(None)
            raise ChannelDoneError("the channel was closed")
        return work

    def unready(self) -> str:
        """Say what keeps turns from being taken, nothing while they are."""
        return self._pull.fault if self._pull is not None else ""

    async def publish(self, request: RequestAnswer | RequestResume) -> None:
        """Queue what an operator decided about a session, so that its thread sees the rest.

        It is stored when this returns; whoever takes it may be another worker.

        Raises:
            ProtocolError: the session is none of a thread.
            BusError: it was not stored.
        """
        if self._binding is None:
            raise BusError("durable turns are not taken yet")
        event = f"operator:{ksuid()}"
        session = SLACK.checked_session(request.session)
        thread = SLACK.thread_of(session)
        header = request_header(
            request.sender, self._terms.identity, request=request_of(event), conversation=thread
        )
        message = (
            RequestAnswer(**header, conversation_token=thread, answer=request.answer)
            if isinstance(request, RequestAnswer)
            else RequestResume(**header, conversation_token=thread)
        )
        turn = of_session(
            self._terms.identity,
            SLACK,
            session,
            event=event,
            message=message,
            caller=request.sender.name,
        )
        await publishing.publish(self._binding.js, turn)

    async def close(self) -> None:
        """Take no turn any more, and give back what was taken and does not run."""
        if self._admission.draining:
            return
        self._admission.drain()
        if self._pulling is not None:
            self._pulling.cancel()
            await asyncio.wait({self._pulling})
        if self._pull is not None:
            await self._pull.close()
        if self._waiting:
            await asyncio.wait(tuple(self._waiting), timeout=SETTLE_S)
        self._ready.put_nowait(None)

    async def fault(self) -> Exception:
        """Wait for the fault of the connection."""
        return await self._connection.fault()

    async def _take(self, pull: TurnPull, steps: TurnSteps) -> None:
        async for delivery in pull.deliveries():
            task = asyncio.create_task(self._serve(pull, steps, delivery), name="turn")
            self._serving.add(task)
            self._waiting.add(task)
            task.add_done_callback(self._served)

    async def _serve(self, pull: TurnPull, steps: TurnSteps, delivery: Delivery) -> None:
        try:
            await steps.serve(delivery)
        finally:
            pull.free()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        self._waiting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a turn failed", exc_info=error)

    def _hand_over(self, work: Work) -> bool:
        if self._admission.draining:
            return False
        self._ready.put_nowait(work)
        task = asyncio.current_task()
        if task is not None:
            self._waiting.discard(cast("asyncio.Task[None]", task))
        return True

    async def _look(self, binding: Binding) -> None:
        """Return when everything answers that a turn needs; raises as it says."""
        if not self._connection.connected:
            raise BusError("the broker is away")
        await self._store.bind()
        await binding.js.stream(binding.replies)


def _terms(config: Config, slack: Slack) -> Terms:
    level: Level = "full" if slack.events == "full" else "status"
    return Terms(
        identity=config.identity,
        level=level,
        questions=Questions(window_s=slack.answer_grace_s, elicit_max_s=DEFAULT_ELICIT_MAX_S),
        max_tokens=lowered(config.llm.budget.max_tokens, UNSET),
    )
