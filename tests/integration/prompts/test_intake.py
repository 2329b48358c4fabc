"""Intake when the wire fails it: nothing runs unheard of, and no slot is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from agent_worker.channels.prompts import PromptsChannel
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.guard import DEFAULT_BOUND
from fisk_ai.bus.messages import Handler, Inbound
from fisk_ai.bus.service import Service
from fisk_ai.errors import BusError
from fisk_ai.serving.contract import Outcome
from fisk_ai.testing.broker import connected
from fisk_ai.testing.prompts import Bench, prompt

pytestmark = pytest.mark.integration


@dataclass(slots=True)
class Noted(Service):
    """A service whose handlers a test can call as the broker would."""

    handlers: dict[str, Handler] = field(default_factory=dict[str, Handler])

    async def add_endpoint(
        self, name: str, subject: str, handler: Handler, *, bound: int = DEFAULT_BOUND
    ) -> None:
        self.handlers[name] = handler
        await Service.add_endpoint(self, name, subject, handler, bound=bound)


@dataclass(slots=True)
class Wire:
    """Takes what is sent to a caller, but for the sends counted in ``broken``, from 1."""

    broken: frozenset[int] = frozenset()
    sends: int = 0
    messages: list[m.AnyMessage] = field(default_factory=list[m.AnyMessage])

    async def send(self, subject: str, body: bytes, headers: Mapping[str, str] | None) -> None:
        self.sends += 1
        if self.sends in self.broken:
            raise BusError("the broker is away")
        self.messages.append(codec.decode(body))


@dataclass(slots=True)
class Intake:
    """A channel and the handler of its requests."""

    channel: PromptsChannel
    handler: Handler

    async def take(self, request: m.AnyRequest, wire: Wire) -> None:
        body, subject = codec.encode(request), subjects.task("billing")
        await self.handler(Inbound(body, {}, subject, "_INBOX.caller", wire.send))

    async def works(self) -> str:
        """Wait for the next work and return its prompt."""
        work = await asyncio.wait_for(self.channel.next(), 5)
        await work.done(Outcome(id=work.id, reason="completed", text="Fine."))
        return work.prompt


async def intake(bench: Bench, connection: Connection, control: Connection) -> Intake:
    """Start an intake that takes its cancels over ``control``."""
    real = await connection.service("billing")
    service = Noted(real.guard, "billing")
    channel = PromptsChannel(bench.config(), control, service, bench.store)
    await channel.start()
    return Intake(channel, service.handlers["task"])


@pytest.fixture
async def taking(bench: Bench, worker: Connection) -> AsyncIterator[Intake]:
    found = await intake(bench, worker, worker)
    yield found
    await found.channel.close()


def codes(wire: Wire) -> list[str]:
    return [each.code for each in wire.messages if isinstance(each, m.ErrorTerminal)]


async def test_a_request_that_meets_a_drain_is_refused_as_such(taking: Intake) -> None:
    await taking.channel.close()
    wire = Wire()
    await taking.take(prompt(), wire)
    assert codes(wire) == ["draining"]
    ack = wire.messages[0]
    assert isinstance(ack, m.Ack)
    assert (ack.accepted, [each.sequence for each in wire.messages]) == (False, [1, 2])


async def test_a_task_whose_ack_cannot_be_sent_never_runs_and_holds_nothing(
    taking: Intake,
) -> None:
    lost, heard = Wire(broken=frozenset({1})), Wire()
    request = prompt("unheard")
    await taking.take(request, lost)
    assert lost.messages == []
    await taking.take(prompt("heard", request=request.request), heard)
    assert await taking.works() == "heard"
    assert [type(each) for each in heard.messages] == [m.Ack, m.Result]


async def test_a_refusal_that_cannot_be_sent_harms_nobody(taking: Intake) -> None:
    first = Wire()
    await taking.take(prompt("first"), first)
    for broken in (1, 2):
        await taking.take(prompt("second"), Wire(broken=frozenset({broken})))
    assert await taking.works() == "first"


async def test_a_terminal_that_cannot_be_sent_gives_the_slot_back(taking: Intake) -> None:
    for text in ("first", "second"):
        wire = Wire(broken=frozenset({2}))
        await taking.take(prompt(text), wire)
        assert await taking.works() == text
        assert [type(each) for each in wire.messages] == [m.Ack]


async def test_a_task_that_could_not_be_cancelled_is_rejected(
    bench: Bench, broker: Broker, worker: Connection
) -> None:
    async with connected(broker, name="gone") as control:
        found = await intake(bench, worker, control)
    wire = Wire()
    for _ in range(2):
        await found.take(prompt(), wire)
    assert codes(wire) == ["rejected", "rejected"]
    await found.channel.close()
