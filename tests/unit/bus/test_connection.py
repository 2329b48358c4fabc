"""Publishing, requests and inboxes over a real broker, and how a first connection ends."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, ConnectOptions, Inbound, connect
from fisk_ai.bus.health import MIN_PAYLOAD_BYTES
from fisk_ai.bus.messages import wire_bytes
from fisk_ai.errors import (
    BusError,
    BusTimeoutError,
    ConfigError,
    MessageTooLargeError,
    NoRespondersError,
    SetupError,
)
from fisk_ai.testing.broker import options

Serve = Callable[[str], AbstractAsyncContextManager[str]]

CLOSED_PORT = "nats://robot:hunter2@127.0.0.1:9"


async def test_a_request_reaches_its_watcher_and_the_reply_comes_back(
    worker: Connection, caller: Connection
) -> None:
    async def answer(request: Inbound) -> None:
        await request.respond(request.body.upper(), {"Kind": request.headers["Kind"]})

    await worker.watch("echo", answer)

    reply = await caller.request("echo", b"hello", timeout_s=5, headers={"Kind": "greeting"})

    assert reply.body == b"HELLO"
    assert reply.headers == {"Kind": "greeting"}
    assert reply.refusal is None


async def test_a_request_nobody_listens_for_is_told_so(caller: Connection) -> None:
    with pytest.raises(NoRespondersError, match="nowhere"):
        await caller.request("nowhere", b"", timeout_s=5)


async def test_a_request_without_a_reply_ends_at_its_deadline(
    worker: Connection, caller: Connection
) -> None:
    async def silent(request: Inbound) -> None:
        assert request.reply

    await worker.watch("silent", silent)

    with pytest.raises(BusTimeoutError, match="silent"):
        await caller.request("silent", b"", timeout_s=0.05)


async def test_an_inbox_receives_a_stream_of_replies_in_order(
    worker: Connection, caller: Connection
) -> None:
    async def stream(request: Inbound) -> None:
        for number in range(20):
            await worker.publish(request.reply, str(number).encode())

    await worker.watch("stream", stream)
    inbox = await caller.open_inbox()
    await caller.publish_request("stream", b"", reply=inbox.subject)

    received = [await inbox.next(5) for _ in range(20)]

    assert [message.body for message in received if message] == [b"%d" % n for n in range(20)]
    assert await inbox.next(0.01) is None
    await inbox.close()
    await inbox.close()


async def test_an_inbox_shows_that_nobody_listens(caller: Connection) -> None:
    inbox = await caller.open_inbox()
    await caller.publish_request("nowhere", b"", reply=inbox.subject)

    message = await inbox.next(5)

    assert message is not None
    assert message.no_responders


async def test_an_inbox_lies_under_the_prefix_of_its_role(broker: Broker) -> None:
    ours = options(broker)
    connection = await connect(
        ConnectOptions(
            ours.url, "role", user=ours.user, password=ours.password, inbox_prefix="_INBOX_peer"
        )
    )

    inbox = await connection.open_inbox()

    assert inbox.subject.startswith("_INBOX_peer.")
    await connection.drain()


async def test_a_reader_of_an_inbox_learns_that_the_connection_ended(caller: Connection) -> None:
    inbox = await caller.open_inbox()
    reading = asyncio.create_task(inbox.next(10))
    await asyncio.sleep(0)

    await caller.drain()

    with pytest.raises(BusError, match="closed"):
        await reading


@pytest.mark.parametrize("with_headers", [False, True])
async def test_a_message_of_exactly_the_limit_passes_and_one_more_byte_is_refused_here(
    worker: Connection, caller: Connection, *, with_headers: bool
) -> None:
    headers = {"Note": "ä" * 500} if with_headers else None
    arrived = asyncio.Event()
    sizes: list[int] = []

    async def take(request: Inbound) -> None:
        sizes.append(len(request.body))
        arrived.set()

    await worker.watch("large", take)
    room = caller.max_payload - wire_bytes(b"", headers)

    await caller.publish("large", bytes(room), headers=headers)
    await asyncio.wait_for(arrived.wait(), 10)
    with pytest.raises(MessageTooLargeError, match="large"):
        await caller.publish("large", bytes(room + 1), headers=headers)
    await caller.flush(5)

    assert sizes == [room]
    assert caller.connected


async def test_oversize_headers_alone_are_refused_and_the_connection_lives(
    caller: Connection,
) -> None:
    with pytest.raises(MessageTooLargeError):
        await caller.request("any", b"", timeout_s=1, headers={"Long": "x" * caller.max_payload})

    await caller.flush(5)
    assert caller.connected


async def test_a_message_that_is_too_large_is_told_how_large_it_may_be(
    caller: Connection,
) -> None:
    headers = {"Kind": "large"}
    room = caller.max_payload - wire_bytes(b"", headers)
    with pytest.raises(MessageTooLargeError) as refused:
        await caller.publish("large", bytes(room + 50), headers=headers)
    assert refused.value.room_bytes == room


SMALL = 'listen: "127.0.0.1:-1"\nmax_payload: 65536\nauthorization { token: hunter2 }'


async def test_a_broker_that_takes_too_little_is_warned_of_and_used(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(SMALL) as url:
        with caplog.at_level(logging.WARNING, "fisk_ai.bus"):
            connection = await connect(ConnectOptions(url, "test", token="hunter2"))
        await connection.publish("there", bytes(65_536))
        await connection.drain()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    said = record.getMessage()
    assert "at most 65536 bytes (max_payload)" in said
    assert "long answers are cut short" in said
    assert url in said
    assert "hunter2" not in said


async def test_a_broker_with_the_usual_limit_is_not_warned_of(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve('listen: "127.0.0.1:-1"') as url:
        with caplog.at_level(logging.WARNING, "fisk_ai.bus"):
            connection = await connect(ConnectOptions(url, "test"))
        assert connection.max_payload == MIN_PAYLOAD_BYTES
        await connection.drain()
    assert caplog.records == []


@pytest.mark.parametrize("subject", ["", "two words", "line\r\nbreak"])
async def test_what_is_no_subject_is_refused_without_a_trace(
    caller: Connection, subject: str
) -> None:
    with pytest.raises(BusError):
        await caller.publish(subject, b"x")

    await caller.flush(5)


async def test_no_broker_is_one_sentence_without_the_password() -> None:
    with pytest.raises(SetupError) as refusal:
        await connect(ConnectOptions(CLOSED_PORT, "test", connect_timeout_s=0.3))

    assert "nats://127.0.0.1:9" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
    assert "robot" not in str(refusal.value)


async def test_a_stranger_to_a_private_broker_is_refused_at_once(broker: Broker) -> None:
    started = asyncio.get_running_loop().time()

    with pytest.raises(SetupError, match=r"(?i)authorization"):
        await connect(ConnectOptions(broker.url, "stranger", connect_timeout_s=15))

    assert asyncio.get_running_loop().time() - started < 5


@pytest.mark.parametrize(
    "url", ["", "ws://127.0.0.1:80", "http://127.0.0.1", "nats://", "nats://host:port"]
)
async def test_an_address_that_is_none_is_refused_before_anything_is_tried(url: str) -> None:
    with pytest.raises(SetupError):
        await connect(ConnectOptions(url, "test"))


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "_INBOX.*",
        "a b",
        "$SYS",
        "_INBOX.",
        ">",
        "choria.fisk-ai.task",
        "fisk",
        "\udcff",
        "a" * 129,
    ],
)
async def test_an_inbox_prefix_that_is_none_is_refused_by_its_setting(
    broker: Broker, prefix: str
) -> None:
    with pytest.raises(ConfigError, match="FISK_AI_NATS_INBOX_PREFIX"):
        await connect(ConnectOptions(broker.url, "test", inbox_prefix=prefix))


async def test_a_credentials_file_that_cannot_be_used_is_refused_by_its_setting(
    broker: Broker, tmp_path: Path
) -> None:
    creds = tmp_path / "worker.creds"
    creds.write_text("nothing of use")

    with pytest.raises(SetupError, match="FISK_AI_NATS_CREDS is no credentials file"):
        await connect(ConnectOptions(broker.url, "test", creds=str(creds), connect_timeout_s=2))


async def test_credentials_in_the_address_are_used(broker: Broker) -> None:
    connection = await connect(ConnectOptions(broker.url_with_credentials, "test"))
    inbox = await connection.open_inbox()

    await connection.publish(inbox.subject, b"let in")

    message = await inbox.next(5)
    assert message is not None
    assert message.body == b"let in"
    await connection.drain()
    with pytest.raises(SetupError):
        await connect(ConnectOptions(broker.url, "test", connect_timeout_s=5))


async def test_draining_twice_is_harmless(broker: Broker) -> None:
    connection = await connect(options(broker))

    await connection.drain()
    await connection.drain()

    with pytest.raises(BusError):
        await connection.publish("any", b"")


async def test_a_subject_is_served_from_the_moment_its_watch_is_there(
    worker: Connection, caller: Connection
) -> None:
    async def answer(request: Inbound) -> None:
        await request.respond(b"here")

    for number in range(300):
        watch = await worker.watch(f"fresh.{number}", answer)
        assert (await caller.request(f"fresh.{number}", b"", timeout_s=5)).body == b"here"
        await watch.close()
        with pytest.raises(NoRespondersError):
            await caller.request(f"fresh.{number}", b"", timeout_s=5)


@pytest.mark.parametrize("steps", range(1, 6))
async def test_a_connection_hears_on_after_a_flush_that_was_given_up(
    worker: Connection, caller: Connection, steps: int
) -> None:
    async def answer(request: Inbound) -> None:
        await request.respond(b"heard")

    await worker.watch("still", answer)
    for connection in (worker, caller):
        flush = asyncio.create_task(connection.flush(5))
        for _ in range(steps):
            await asyncio.sleep(0)
        flush.cancel()
        await asyncio.wait({flush})
        await connection.flush(5)

    assert (await caller.request("still", b"", timeout_s=5)).body == b"heard"


def test_importing_the_bus_imports_no_web_client_and_hides_none() -> None:
    program = (
        "import sys, fisk_ai.bus.connection; "
        "assert 'aiohttp' not in sys.modules, 'imported'; "
        "import aiohttp"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=15)
