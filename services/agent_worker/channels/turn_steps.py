"""What is done with one turn, in order, from its delivery to its acknowledgement.

Each step is safe to be the last one: whatever was not settled is delivered again, and the reply
set, its fence and the session say how far it came. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from agent_worker.channels import turn_tries
from agent_worker.channels.admission import Admission, Refusal, Slot
from agent_worker.channels.task import Questions
from agent_worker.channels.terminals import terminal_of
from agent_worker.channels.turn_checkpoint import checkpoint_of, load
from agent_worker.channels.turn_task import TurnTask, store_failed
from agent_worker.channels.work import budget_of, lowered
from fisk_ai import faults
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.codes import Ending
from fisk_ai.a2a.durable import dead, headers
from fisk_ai.a2a.durable.binding import Binding
from fisk_ai.a2a.durable.reply_set import DurableSet, Level
from fisk_ai.a2a.durable.turn import NewerBindingError, Sent, Turn, place_of, read
from fisk_ai.a2a.durable.writer import ReplyWriter
from fisk_ai.a2a.messages import Cancel, RequestPrompt, RequestResume, RunRequest
from fisk_ai.a2a.reply_set import KEEPALIVE_S, ReplySet
from fisk_ai.agent.options import Checkpoint
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.pulling import Delivery
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import (
    BusError,
    FencedError,
    NoRespondersError,
    ProtocolError,
    StoreError,
)
from fisk_ai.faults import Point
from fisk_ai.serving.contract import Caller, Outcome, Work
from fisk_ai.sessions.store import Store

_log = logging.getLogger("agent_worker.turns")

NEWER_S: Final = 60.0
"""How long a turn of a later binding waits for a later worker."""

CANCEL_TIMEOUT_S: Final = 5.0
CANCEL_ATTEMPTS: Final = 5

_CANCELED: Final = Ending("canceled", "canceled", "the turn was stopped before it ran")
_POISON: Final = Ending(
    "crashed",
    "error",
    f"the turn ended its worker {turn_tries.LIMIT} times without getting any further;"
    " it was set aside for the operator of this agent",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How turns of this channel are served."""

    identity: str
    level: Level
    questions: Questions
    max_tokens: int
    keepalive_s: float = KEEPALIVE_S
    delays_s: Sequence[float] = turn_tries.DELAYS_S


@dataclass(frozen=True, slots=True)
class _Held:
    """One delivered turn under its lease."""

    lease: Lease
    sent: Sent
    delay_s: float

    async def wait(self) -> None:
        """Give it back for now."""
        await self.lease.hand_back(delay_s=self.delay_s)


class TurnSteps:
    """Serves turns, one call for each delivery."""

    def __init__(
        self,
        binding: Binding,
        connection: Connection,
        store: Store,
        admission: Admission,
        terms: Terms,
        hand_over: Callable[[Work], bool],
    ) -> None:
        """``connection`` is where callers reach a running turn.

        ``hand_over`` takes its work, or says that nothing is begun any more.
        """
        self._binding = binding
        self._connection = connection
        self._store = store
        self._admission = admission
        self._terms = terms
        self._hand_over = hand_over

    async def serve(self, delivery: Delivery) -> None:
        """Bring one delivered turn as far as this worker can."""
        lease = Lease(self._binding.js.connection, delivery, length_s=self._binding.lease_s)
        sent = Sent(delivery.message.body, delivery.message.headers)
        async with lease:
            delay_s = turn_tries.delay_s(delivery.place.deliveries, self._terms.delays_s)
            held = _Held(lease, sent, delay_s)
            faults.point(Point.TURN_TAKEN)
            try:
                await self._serve(held)
            except FencedError as exc:
                _log.warning("a turn was left to another worker: %s", exc)
            except (BusError, StoreError, ProtocolError) as exc:
                _log.warning("a turn waits: %s", exc)
                await held.wait()

    async def _serve(self, held: _Held) -> None:
        try:
            turn = read(held.sent, self._terms.identity, self._binding.channel)
        except NewerBindingError as exc:
            _log.warning("a turn waits for a newer worker: %s", exc)
            await held.lease.hand_back(delay_s=NEWER_S)
            return
        except ProtocolError as exc:
            await self._refuse(held, str(exc))
            return
        newest = await self._newest(turn)
        if newest is not None and headers.is_final(newest):
            await self._settle(held)
        elif isinstance(turn.message, Cancel):
            await self._cancel(held, turn, turn.message)
        else:
            await self._take(held, turn, turn.message, newest)

    async def _refuse(self, held: _Held, reason: str) -> None:
        """Set aside what is no turn, and tell its thread where that can be read."""
        _log.error("a message of the turn queue is no turn: %s", reason)
        await self._bury(held, reason, tries=0)
        turn = place_of(held.sent, self._terms.identity, self._binding.channel)
        # A set that was begun belongs to a turn that is one: this message only claims its name.
        if turn is not None and await self._newest(turn) is None:
            await self._end(held, turn, None, Ending("rejected", "error", reason), tries=0)
        await held.lease.terminate()

    async def _cancel(self, held: _Held, turn: Turn, cancel: Cancel) -> None:
        """Stop a turn wherever it runs; one that runs nowhere is ended before it does.

        Between the question who runs it and its end somebody may take it: then ask again.
        """
        for left in reversed(range(CANCEL_ATTEMPTS)):
            try:
                if not await self._reaches(cancel):
                    newest = await self._newest(turn)
                    if newest is None or not headers.is_final(newest):
                        await self._end(held, turn, newest, _CANCELED, tries=0)
                break
            except FencedError:
                if not left or held.lease.lost.is_set():
                    raise
        await self._settle(held)

    async def _reaches(self, cancel: Cancel) -> bool:
        """Say whether a worker that runs the turn was told to stop it."""
        subject = subjects.cancel(self._terms.identity, cancel.request)
        body = codec.encode(cancel)
        try:
            await self._connection.request(subject, body, timeout_s=CANCEL_TIMEOUT_S)
        except NoRespondersError:
            return False
        return True

    async def _take(
        self, held: _Held, turn: Turn, request: RunRequest, newest: Stored | None
    ) -> None:
        standing = await self._store.standing(turn.session)
        if standing.held:
            await held.wait()
            return
        slot = self._admission.admit(request.request, turn.session)
        if isinstance(slot, Refusal):
            delay_s = 0.0 if slot.code == "draining" else held.delay_s
            await held.lease.hand_back(delay_s=delay_s)
            return
        try:
            number = turn_tries.number_of(newest, standing.last_seq)
            if number > turn_tries.LIMIT:
                await self._give_up(held, turn, newest)
                return
            writer = self._writer(turn, newest, number, standing.last_seq, lost=held.lease.lost)
            await self._run(held, turn, request, slot, writer, begun=newest is not None)
        finally:
            self._admission.release(slot)

    async def _give_up(self, held: _Held, turn: Turn, newest: Stored | None) -> None:
        _log.error("turn %s is set aside: it ended its worker time and again", turn.event)
        await self._bury(held, _POISON.text, tries=turn_tries.LIMIT)
        await self._end(held, turn, newest, _POISON, tries=turn_tries.LIMIT)
        await held.lease.terminate()

    async def _run(
        self,
        held: _Held,
        turn: Turn,
        request: RunRequest,
        slot: Slot,
        writer: ReplyWriter,
        *,
        begun: bool,
    ) -> None:
        terms = self._terms
        reply_set = DurableSet(
            writer,
            request,
            terms.identity,
            level=terms.level,
            pass_by=partial(self._connection.publish, turn.delta_subject),
            keepalive_s=terms.keepalive_s,
        )
        task = TurnTask(
            reply_set,
            request,
            admission=self._admission,
            slot=slot,
            questions=terms.questions,
        )
        try:
            await task.listen(self._connection)
            await reply_set.ack(accepted=True, max_tokens=lowered(terms.max_tokens, request.budget))
            faults.point(Point.TURN_ACKED)
            work = await self._work(held, turn, request, task, begun=begun)
            if work is None or not self._hand_over(work):
                delay_s = held.delay_s if work is None else 0.0
                await self._hand_back(held, task, writer, delay_s=delay_s)
                return
            await self._conclude(held, task, writer, await task.outcome)
        finally:
            reply_set.abandon()
            await task.let_go()
            task.over.set()

    async def _work(
        self, held: _Held, turn: Turn, request: RunRequest, task: TurnTask, *, begun: bool
    ) -> Work | None:
        """Return what is to be run; ``None`` while the session cannot be read."""
        try:
            state = await load(self._store, turn.session)
        except StoreError as exc:
            _log.warning("turn %s waits: %s", turn.event, exc)
            return None
        checkpoint = checkpoint_of(turn, request, state, begun=begun)
        task.follow_up = checkpoint.follow_up
        return _work(turn, request, task, held.lease, checkpoint)

    async def _conclude(
        self, held: _Held, task: TurnTask, writer: ReplyWriter, outcome: Outcome
    ) -> None:
        if held.lease.lost.is_set() or task.has_lost(outcome):
            held.lease.give_up()
            _log.warning("turn of request %s went to another worker", task.request.request)
            return
        if task.is_paused(outcome):
            await self._hand_back(held, task, writer, delay_s=0.0)
            return
        if task.is_locked_out(outcome):
            await self._hand_back(held, task, writer, delay_s=held.delay_s)
            return
        if store_failed(outcome.error):
            await held.wait()
            return
        terminal = task.terminal(outcome)
        # The slot is free first: whoever sends the next turn on receipt of this must find it so.
        await task.let_go()
        faults.point(Point.TURN_TERMINAL_BEFORE)
        await task.stored_set.finish(terminal)
        faults.point(Point.TURN_TERMINAL_STORED)
        await self._settle(held)

    async def _hand_back(
        self, held: _Held, task: TurnTask, writer: ReplyWriter, *, delay_s: float
    ) -> None:
        """Leave the turn to the next worker; this try was not the turn's fault and counts not."""
        writer.headers[headers.TRY] = str(int(writer.headers[headers.TRY]) - 1)
        await task.stored_set.hand_back()
        await held.lease.hand_back(delay_s=delay_s)

    async def _settle(self, held: _Held) -> None:
        await held.lease.ack()
        faults.point(Point.TURN_SETTLED)

    async def _bury(self, held: _Held, reason: str, *, tries: int) -> None:
        if held.lease.lost.is_set():
            raise FencedError("the lease of a turn to be set aside is over")
        channel = self._binding.channel.name
        await dead.bury(
            self._binding.js, self._terms.identity, channel, held.sent, reason=reason, tries=tries
        )
        faults.point(Point.TURN_BURIED)

    async def _end(
        self, held: _Held, turn: Turn, newest: Stored | None, ending: Ending, *, tries: int
    ) -> None:
        """End a set that this worker does not run, behind whatever is the newest of it."""
        if held.lease.lost.is_set():
            raise FencedError("the lease of a turn to be ended is over")
        journal = headers.number(newest.headers, headers.JOURNAL) if newest else 0
        # Whoever has the set by now may have it: this lease is none on that turn's run.
        writer = self._writer(turn, newest, tries, journal, lost=asyncio.Event())
        request = _request_of(turn)
        sequence = codec.decode(newest.body).sequence if newest else 0
        reply_set = ReplySet(
            writer.publish, request, self._terms.identity, stream=False, sequence=sequence
        )
        try:
            async with asyncio.timeout(self._binding.lease_s / 2):
                await reply_set.finish(terminal_of(reply_set, ending))
        except TimeoutError as exc:
            raise FencedError("the broker did not store the end of a turn in time") from exc

    async def _newest(self, turn: Turn) -> Stored | None:
        return await self._binding.js.newest(self._binding.replies, turn.reply_subject)

    def _writer(
        self,
        turn: Turn,
        newest: Stored | None,
        number: int,
        journal: int,
        *,
        lost: asyncio.Event,
    ) -> ReplyWriter:
        common = {
            **turn.place_headers(),
            headers.TRY: str(number),
            headers.JOURNAL: str(journal),
        }
        return ReplyWriter(
            self._binding.js,
            turn.reply_subject,
            self._binding.replies,
            newest.seq if newest else 0,
            common,
            lost=lost,
        )


def _request_of(turn: Turn) -> RunRequest:
    """Return what a set answers; a cancel stands for the request that it stops."""
    message = turn.message
    if not isinstance(message, Cancel):
        return message
    return RequestResume(
        id=message.id,
        request=message.request,
        conversation=message.conversation,
        sequence=0,
        time=message.time,
        sender=message.sender,
        conversation_token=turn.thread_hash,
    )


def _work(
    turn: Turn, request: RunRequest, task: TurnTask, lease: Lease, checkpoint: Checkpoint
) -> Work:
    prompt = request.prompt if isinstance(request, RequestPrompt) else ""
    context = request.context if isinstance(request, RequestPrompt) else ""
    return Work(
        id=turn.session,
        done=task.done,
        prompt=prompt,
        context=context,
        checkpoint=checkpoint,
        claimed_by=request.request,
        suspend_requested=task.stopping,
        budget=budget_of(request.budget),
        caller=Caller(name=turn.caller or request.sender.name, verified=True),
        events=task.narration,
        prompter=task.asks,
        human_paced=True,
        traceparent=request.traceparent,
        lost=lease.lost,
    )
