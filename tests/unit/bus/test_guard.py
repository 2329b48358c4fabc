"""Requests are served through one guard: reply subjects, concurrency, failures."""

from __future__ import annotations

import ast
import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fisk_ai.bus
from fisk_ai.bus import guard
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.bus.options import checked_prefixes
from fisk_ai.errors import ConfigError, NoRespondersError
from fisk_ai.testing.broker import connected

Listen = Callable[[Connection, str, Callable[[Inbound], Awaitable[None]]], Awaitable[object]]


async def _watched(
    connection: Connection, subject: str, handler: Callable[[Inbound], Awaitable[None]]
) -> object:
    return await connection.watch(subject, handler)


async def _endpoint(
    connection: Connection, subject: str, handler: Callable[[Inbound], Awaitable[None]]
) -> object:
    service = await connection.service("agent")
    await service.add_endpoint("endpoint", subject, handler)
    return service


both = pytest.mark.parametrize("listen", [_watched, _endpoint], ids=["watch", "endpoint"])

FOREIGN = [
    "journal.run.5",
    "choria.fisk-ai.reply.agent.slack.t.r",
    "_INBOX",
    "_INBOXES.x",
    "_INBOX_peers.x",
    "_INBOX_pee.x",
    "_INBOX..x",
    "_INBOX.>",
    "_INBOX.*",
    "_INBOX." + "x" * (guard.REPLY_LIMIT - 6),
]
ACCEPTED = [
    "_INBOX." + "x" * (guard.REPLY_LIMIT - 7),
    "_INBOX.a",
    "_INBOX.a.b",
    "_INBOX_peer.x",
    "two.tokens.x",
]


@both
async def test_a_request_whose_reply_is_no_inbox_is_dropped_unserved(
    broker: Broker, caller: Connection, listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    served: list[str] = []
    done = asyncio.Event()

    async def serve(request: Inbound) -> None:
        served.append(request.reply)
        if request.body == b"last":
            done.set()

    async with connected(broker, accepted_prefixes=("_INBOX_peer", "two.tokens")) as worker:
        await listen(worker, "work", serve)
        for reply in (*FOREIGN, *ACCEPTED):
            await caller.publish_request("work", b"x", reply=reply)
        await caller.publish("work", b"last")
        await asyncio.wait_for(done.wait(), 5)

    assert served == [*ACCEPTED, ""]
    dropped = [record for record in caplog.records if "dropped" in record.getMessage()]
    assert len(dropped) == 1


async def test_questions_about_the_service_answer_no_foreign_subject(
    worker: Connection, caller: Connection
) -> None:
    await worker.service("agent")
    stolen: list[bytes] = []

    async def steal(request: Inbound) -> None:
        stolen.append(request.body)

    await caller.watch("journal.run.5", steal)
    await caller.publish_request("$SRV.PING", b"", reply="journal.run.5")

    assert await caller.request("$SRV.PING.agent", b"", timeout_s=5)
    await caller.flush(5)
    assert not stolen


@both
async def test_five_slow_requests_are_served_at_once(
    worker: Connection, caller: Connection, listen: Listen
) -> None:
    together = asyncio.Barrier(5)

    async def meet(request: Inbound) -> None:
        await together.wait()
        await request.respond(b"met")

    await listen(worker, "meet", meet)

    replies = await asyncio.gather(*(caller.request("meet", b"", timeout_s=5) for _ in range(5)))

    assert [reply.body for reply in replies] == [b"met"] * 5


async def test_no_more_than_the_bound_is_served_at_once(
    worker: Connection, caller: Connection
) -> None:
    running = 0
    most = 0

    async def count(request: Inbound) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await worker.flush(5)
        running -= 1
        await request.respond(b"")

    await worker.watch("count", count, bound=3)

    await asyncio.gather(*(caller.request("count", b"", timeout_s=5) for _ in range(30)))

    assert most == 3


@both
async def test_a_failing_handler_tells_its_caller_one_fixed_text(
    worker: Connection, caller: Connection, listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: Inbound) -> None:
        raise ValueError("the secret is 42")

    await listen(worker, "fail", fail)

    reply = await caller.request("fail", b"", timeout_s=5)

    assert reply.refusal == ("500", guard.INTERNAL_ERROR)
    assert reply.body == b""
    assert "the secret is 42" in caplog.text


@both
async def test_a_refusal_travels_in_the_two_error_headers(
    worker: Connection, caller: Connection, listen: Listen
) -> None:
    async def refuse(request: Inbound) -> None:
        await request.refuse("404", "this run is not\r\nwaiting")

    await listen(worker, "refuse", refuse)

    reply = await caller.request("refuse", b"", timeout_s=5)

    assert reply.headers["Nats-Service-Error-Code"] == "404"
    assert "\n" not in reply.headers["Nats-Service-Error"]
    assert reply.body == b""


async def test_a_closing_watch_serves_what_it_took_and_then_nobody_listens(
    worker: Connection, caller: Connection
) -> None:
    taken = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(request: Inbound) -> None:
        taken.set()
        await go_on.wait()
        await request.respond(b"served")

    watch = await worker.watch("slow", slow)
    request = asyncio.create_task(caller.request("slow", b"", timeout_s=5))
    await taken.wait()
    closing = asyncio.create_task(watch.close())
    inbox = await caller.open_inbox()
    while True:
        await caller.publish_request("slow", b"", reply=inbox.subject)
        message = await inbox.next(0.2)
        if message is not None and message.no_responders:
            break
    go_on.set()

    assert (await request).body == b"served"
    await closing


async def test_a_watch_can_be_closed_from_its_own_handler(
    worker: Connection, caller: Connection
) -> None:
    watches: list[guard.Watch] = []

    async def once(request: Inbound) -> None:
        await watches[0].close()
        await request.respond(b"bye")

    watches.append(await worker.watch("once", once))

    assert (await caller.request("once", b"", timeout_s=5)).body == b"bye"


async def test_a_hanging_handler_does_not_keep_a_watch_open(
    worker: Connection, caller: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "CLOSE_TIMEOUT_S", 0.3)
    taken, left = asyncio.Event(), asyncio.Event()

    async def hang(_: Inbound) -> None:
        taken.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    watch = await worker.watch("hang", hang)
    await caller.publish("hang", b"")
    await taken.wait()

    await asyncio.wait_for(watch.close(), 5)

    assert left.is_set()
    with pytest.raises(NoRespondersError):
        await caller.request("hang", b"", timeout_s=5)


async def test_dropped_requests_cost_one_line_a_second(
    worker: Connection, caller: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    seen = asyncio.Event()

    async def serve(_: Inbound) -> None:
        seen.set()

    await worker.watch("flooded", serve)
    with caplog.at_level(logging.WARNING):
        for _ in range(500):
            await caller.publish_request("flooded", b"", reply="journal.x")
        await caller.publish("flooded", b"")
        await asyncio.wait_for(seen.wait(), 5)

    lines = [record for record in caplog.records if "flooded" in record.getMessage()]
    assert 1 <= len(lines) <= 2


def test_the_replies_of_account_imports_are_answered() -> None:
    """Such a subject comes from a broker alone; one that a client names never arrives."""
    assert guard.ReplyRule(()).allows("_R_.abc.def")


@pytest.mark.parametrize(
    "entry",
    ["", " ", "_INBOX *", "_INBOX.*", ">", "$JS", "a.$b", "a..b", ".a", "a.", "choria", "fisk",
     "choria.fisk-ai", "fisk.session", "_INBOX peer", "a\n", "a" * 129],
)  # fmt: skip
def test_a_prefix_that_could_match_more_than_an_inbox_stops_the_start(entry: str) -> None:
    with pytest.raises(ConfigError, match="FISK_AI_INBOX_PREFIXES"):
        checked_prefixes(("_INBOX_peer", entry))


@given(prefix=st.text("abX_", min_size=1, max_size=6), reply=st.text("abX_.*> ", max_size=12))
def test_a_prefix_matches_whole_tokens_of_a_literal_subject_only(prefix: str, reply: str) -> None:
    allowed = guard.ReplyRule((prefix,)).allows(reply)

    tokens = reply.split(".")
    literal = all(token and not set(token) & set("*> ") for token in tokens)
    under = len(tokens) > 1 and tokens[0] in (prefix, "_INBOX", "_R_")
    assert allowed == (not reply or (literal and under))


def test_nothing_subscribes_beside_the_guard_and_the_inbox() -> None:
    """Requests have one way in: scan the source for any other."""
    bus = Path(fisk_ai.bus.__file__).parent
    root = bus.parents[2]
    product = [file for part in ("shared", "services") for file in (root / part).rglob("*.py")]

    assert _callers("subscribe", product) == {"client.py", "guard.py", "connection.py"}
    assert _callers("pull_subscribe", product) == set()
    assert _callers("add_service", product) == set()
    assert _callers("listen", list(bus.rglob("*.py"))) == {"service.py", "connection.py"}


def _callers(name: str, files: list[Path]) -> set[str]:
    return {
        file.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _called(node) == name
    }


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
