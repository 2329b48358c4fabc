"""The one writer of a set: lost acknowledgements, a rival, and the end of its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.durable.provisioning import REPLIES, wishes
from fisk_ai.a2a.durable.reply_set import DurableSet
from fisk_ai.a2a.durable.writer import ReplyWriter
from fisk_ai.bus.jetstream import OPERATION_TIMEOUT_S, Ack, JetStream
from fisk_ai.errors import BusTimeoutError, FencedError
from fisk_ai.testing.broker import provision, running_streams

SUBJECT = "choria.fisk-ai.reply.billing.slack.thread.r1"
REQUEST = m.RequestPrompt(
    **m.request_header(m.Sender(name="b"), "billing", request="r1"), prompt="x"
)


class Deaf(JetStream):
    """A broker whose next acknowledgements are lost on the way."""

    lost = 0

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = OPERATION_TIMEOUT_S,
    ) -> Ack:
        ack = await super().publish(subject, body, headers=headers, timeout_s=timeout_s)
        if self.lost:
            self.lost -= 1
            raise BusTimeoutError("lost")
        return ack


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[Deaf]:
    async with running_streams(tmp_path / "broker") as found:
        await provision(found, *wishes("billing", ["slack"], key="test", replicas=1))
        yield Deaf(found.connection)


def writer(js: JetStream, fence: int = 0, lost: asyncio.Event | None = None) -> ReplyWriter:
    common = {headers.TRY: "1", headers.JOURNAL: "0"}
    return ReplyWriter(js, SUBJECT, REPLIES, fence, common, lost=lost or asyncio.Event())


def set_of(written: ReplyWriter) -> DurableSet:
    return DurableSet(written, REQUEST, "billing", level="full")


def result() -> m.Result:
    return m.Result(**m.reply_header(REQUEST, "billing"), stop_reason="end_turn")


async def stored(js: JetStream) -> int:
    return (await js.stream(REPLIES)).messages


@pytest.mark.parametrize("lost_before", ["ack", "event", "terminal"])
async def test_a_message_whose_acknowledgement_is_lost_is_stored_once(
    js: Deaf, lost_before: str
) -> None:
    found = set_of(writer(js))
    js.lost = int(lost_before == "ack")
    await found.ack(accepted=True)
    js.lost = int(lost_before == "event")
    await found.event(m.WarningBlockEvent(kind="x"))
    js.lost = int(lost_before == "terminal")
    await found.finish(result())
    assert (js.lost, await stored(js)) == (0, 3)
    newest = await js.newest(REPLIES, SUBJECT)
    assert newest is not None
    assert headers.is_final(newest)


async def test_of_two_writers_of_one_set_the_later_one_has_it(js: Deaf) -> None:
    lost = asyncio.Event()
    first = set_of(writer(js, lost=lost))
    await first.ack(accepted=True)
    newest = await js.newest(REPLIES, SUBJECT)
    assert newest is not None
    second = set_of(writer(js, fence=newest.seq))
    await second.ack(accepted=True)
    await first.event(m.WarningBlockEvent(kind="x"))
    assert lost.is_set()
    with pytest.raises(FencedError):
        await first.finish(result())
    await second.finish(result())
    assert await stored(js) == 3


async def test_of_two_writers_at_the_same_time_one_is_refused(js: Deaf) -> None:
    both = [set_of(writer(js)), set_of(writer(js))]
    ends = await asyncio.gather(*(each.ack(accepted=True) for each in both), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["FencedError", "NoneType"]
    assert await stored(js) == 1
    for each in both:
        each.abandon()


async def test_nothing_is_written_once_our_time_is_over(js: Deaf) -> None:
    lost = asyncio.Event()
    found = set_of(writer(js, lost=lost))
    await found.ack(accepted=True)
    lost.set()
    await found.event(m.WarningBlockEvent(kind="x"))
    with pytest.raises(FencedError):
        await found.finish(result())
    assert await stored(js) == 1


async def test_a_run_that_is_stopped_leaves_no_message_half_way(js: Deaf) -> None:
    found = set_of(writer(js))
    await found.ack(accepted=True)
    js.lost = 1
    task = asyncio.create_task(found.event(m.WarningBlockEvent(kind="x")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    await found.finish(result())
    bodies = [await js.next_after(REPLIES, seq, SUBJECT) for seq in range(await stored(js))]
    assert len({each.body for each in bodies if each}) == await stored(js) == 3
