"""The channel of prompts: takes requests from callers and answers each with a reply set.

Decided here: what is checked before a request is acknowledged, and in which order. Intake never
waits for a run, a journal or a person. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping

from msgspec import UNSET

from agent_worker.channels.admission import Admission, Refusal
from agent_worker.channels.history import Reads, load, send_replay
from agent_worker.channels.task import APPROVED_BY_OPERATOR, Questions, Task
from agent_worker.channels.terminals import terminal_of
from agent_worker.channels.work import lowered, work_of
from agent_worker.requests import read
from fisk_ai import faults
from fisk_ai.a2a import subjects
from fisk_ai.a2a.codes import Ending
from fisk_ai.a2a.messages import (
    NAMESPACE,
    AnyRequest,
    RequestAnswer,
    RequestPrompt,
    RequestRead,
    RequestResume,
    RunRequest,
    protocol_of,
)
from fisk_ai.a2a.reply_set import KEEPALIVE_S, ReplySet
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.bus.service import Service
from fisk_ai.config import Config
from fisk_ai.errors import (
    BusError,
    ConfigError,
    ProtocolError,
    StoreError,
)
from fisk_ai.serving.contract import ChannelDoneError, Work
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.store import Store
from fisk_ai.text.ids import ksuid
from fisk_ai.toolkit.prompter import ParkingPrompter, absent

_log = logging.getLogger("agent_worker.prompts")

SETTLE_S = 10.0
"""How long a closing channel waits for reads and hand-offs; they only read a journal."""

_WANTED = ", ".join(
    f"{NAMESPACE}.request.{kind}" for kind in ("prompt", "answer", "resume", "read")
)


class PromptsChannel:
    """Serves the prompts of one agent; a channel that is concurrent, releasable and faulting.

    Build it, ``await start()``, then hand it to a server. ``service`` is the worker's micro
    service; ``store`` serves reads and replays.
    """

    def __init__(
        self,
        config: Config,
        connection: Connection,
        service: Service,
        store: Store,
        *,
        keepalive_s: float = KEEPALIVE_S,
        human_paced: bool = True,
        take_over: bool = False,
    ) -> None:
        """Check the configuration.

        ``human_paced`` says that a caller may be a person who takes minutes to go on;
        ``take_over`` that the one caller gave up a holder of the session that does not answer.

        Raises:
            ConfigError: prompts are not enabled.
        """
        a2a = config.expose.agent.a2a
        if a2a is None or a2a.prompts is None:
            raise ConfigError(
                "expose.agent.a2a.prompts is not set, so this agent answers no prompts",
                key="expose.agent.a2a.prompts",
            )
        self._config = config
        self._connection = connection
        self._service = service
        self._store = store
        self._keepalive_s = keepalive_s
        self._human_paced = human_paced
        prompts = a2a.prompts
        self._approves = prompts.approve == "caller"
        self._absent = absent(prompts.approvals)
        self._take_over = take_over
        self._questions = (
            Questions(
                window_s=a2a.request_timeout_s,
                elicit_max_s=prompts.elicit_max_s,
                approves=self._approves,
                parks=prompts.approvals == "park",
            )
            if prompts.elicit
            else None
        )
        self._admission = Admission(prompts.workers)
        self._reads = Reads(store, lowered(config.llm.budget.max_tokens, UNSET))
        self._ready: asyncio.Queue[tuple[Task, Work] | None] = asyncio.Queue()
        self._own: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The label in logs."""
        return "a2a/prompts"

    @property
    def heading(self) -> str:
        """What it does."""
        return "Answering prompts over a2a"

    def describe(self) -> Mapping[str, object]:
        """Return where it is reached, and how many run at once."""
        identity = self._config.identity
        return {
            "Requests": subjects.task(identity),
            "Cancels": subjects.cancel(identity, "REQUEST"),
            "Answers": subjects.elicit(identity, "REQUEST"),
            "Workers": self._admission.workers,
        }

    def concurrency(self) -> int:
        """Return the number of prompts served at once."""
        return self._admission.workers

    async def start(self) -> None:
        """Register the endpoint.

        Raises:
            BusError: the broker did not take it.
        """
        subject = subjects.task(self._config.identity)
        await self._service.add_endpoint("task", subject, self._on_task)

    async def next(self) -> Work:
        """Wait for an acknowledged task.

        Raises:
            ChannelDoneError: the channel was closed.
        """
        item = await self._ready.get()
        if item is None:
            self._ready.put_nowait(None)
            raise ChannelDoneError("the channel was closed")
        return item[1]

    async def close(self) -> None:
        """Refuse what comes, leave the subjects, and end what was taken and never started."""
        if self._admission.draining:
            return
        self._admission.drain()
        await self._service.stop()
        await self._settle()
        while not self._ready.empty():
            item = self._ready.get_nowait()
            if item is not None:
                await item[0].end(_DRAINING)
        self._ready.put_nowait(None)

    async def fault(self) -> Exception:
        """Wait for the fault of the connection."""
        return await self._connection.fault()

    async def _on_task(self, inbound: Inbound) -> None:
        message = await read(inbound, "the request")
        if message is None:
            return
        if not isinstance(message, RunRequest | RequestRead):
            got = protocol_of(message)
            await inbound.refuse(
                "400", f'this path carries requests: got "{got}", want one of {_WANTED}'
            )
            return
        if not isinstance(message, RequestPrompt | RequestRead) and message.session:
            await inbound.refuse("400", "a conversation is named by its token here")
            return
        token = message.conversation_token or ksuid()
        session = session_id_for_token(self._config.identity, token)
        reply_set = self._reply_set(inbound, message)
        if isinstance(message, RequestRead):
            self._spawn(self._reads.serve(reply_set, message, session), "read")
            return
        if self._is_refused(message):
            await _refuse(reply_set, Refusal("rejected", APPROVED_BY_OPERATOR))
            return
        await self._take(reply_set, message, session, token)

    async def resume(self, inbound: Inbound, request: RequestAnswer | RequestResume) -> None:
        """Let the session that an operator names go on, as a caller's request would.

        Nobody is asked: the run parks where it needs a person again. The operator learns no token.
        """
        reply_set = self._reply_set(inbound, request)
        await self._take(reply_set, request, request.session, "")

    def _is_refused(self, request: RunRequest) -> bool:
        """Say whether a caller decides what its operator decides."""
        if self._approves or not isinstance(request, RequestAnswer):
            return False
        return request.answer.kind == "approve"

    async def _take(
        self, reply_set: ReplySet, request: RunRequest, session: str, token: str
    ) -> None:
        slot = self._admission.admit(request.request, session)
        if isinstance(slot, Refusal):
            await _refuse(reply_set, slot)
            return
        task = Task(
            reply_set,
            request,
            admission=self._admission,
            slot=slot,
            questions=self._questions if token else None,
            absent=self._absent if token else ParkingPrompter(kept=True),
        )
        try:
            await task.listen(self._connection)
        except BusError as exc:
            _log.error("task %s: %s", request.request, exc)
            await task.let_go()
            await _refuse(
                reply_set, Refusal("rejected", "this worker could not listen for cancels")
            )
            return
        await self._acknowledge(task, token)

    async def _acknowledge(self, task: Task, token: str) -> None:
        bound = lowered(self._config.llm.budget.max_tokens, task.request.budget)
        try:
            await task.reply_set.ack(accepted=True, conversation_token=token, max_tokens=bound)
        except (BusError, ProtocolError) as exc:
            _log.warning("task %s: its ack could not be sent: %s", task.request.request, exc)
            task.reply_set.abandon()
            await task.let_go()
            return
        self._spawn(self._hand_off(task, token), "hand-off")

    async def _hand_off(self, task: Task, token: str) -> None:
        handed = False
        try:
            faults.point(faults.Point.TASK_ACKED)
            await self._replay(task)
            if not self._admission.draining:
                work = work_of(
                    task, token, human_paced=self._human_paced, take_over=self._take_over
                )
                self._ready.put_nowait((task, work))
                handed = True
        finally:
            if not handed:
                await task.end(_DRAINING if self._admission.draining else _BROKEN)

    async def _replay(self, task: Task) -> None:
        request = task.request
        if isinstance(request, RequestResume) or request.replay is UNSET:
            return
        if not (request.conversation_token and task.reply_set.stream):
            return
        try:
            stored = await load(self._store, task.session)
        except StoreError as exc:
            _log.info("session %s is not replayed: %s", task.session, exc)
            return  # the run meets the same session next, and tells the caller what is wrong
        await send_replay(task.reply_set, stored, request.replay)

    def _reply_set(self, inbound: Inbound, request: AnyRequest) -> ReplySet:
        async def publish(body: bytes, headers: Mapping[str, str]) -> None:
            await inbound.respond(body, headers or None)

        stream = isinstance(request, RequestRead) or request.wants_stream()
        deltas = not isinstance(request, RequestRead) and request.wants_deltas()
        return ReplySet(
            publish,
            request,
            self._config.identity,
            stream=stream,
            deltas=deltas,
            keepalive_s=self._keepalive_s,
        )

    async def _settle(self) -> None:
        """Let what intake began come to its end, but not for ever."""
        if not self._own:
            return
        _, late = await asyncio.wait(tuple(self._own), timeout=SETTLE_S)
        for task in late:
            task.cancel()

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=f"prompts {name}")
        self._own.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._own.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a %s failed", task.get_name(), exc_info=error)


_DRAINING = Ending("draining", "error", "this worker began to shut down before the run; try again")
_BROKEN = Ending("failed", "error", "the run could not be started")


async def _refuse(reply_set: ReplySet, refusal: Refusal) -> None:
    try:
        await reply_set.ack(accepted=False, reason=refusal.text)
        await reply_set.finish(terminal_of(reply_set, Ending(refusal.code, "error", refusal.text)))
    except (BusError, ProtocolError) as exc:
        _log.warning("a refusal could not be sent: %s", exc)
        reply_set.abandon()
