"""Liveness and readiness over HTTP: what is answered, and what a client cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fisk_ai.errors import SetupError
from fisk_ai.serving import health
from fisk_ai.serving.health import HealthServer, parse_address


class Process:
    """A process whose readiness a test sets."""

    def __init__(self) -> None:
        self.reasons: Sequence[str] = ()
        self.port = 0

    async def told(self) -> Sequence[str]:
        return self.reasons

    async def send(self, raw: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            with suppress(OSError):
                await writer.drain()
                writer.write_eof()
            return await asyncio.wait_for(reader.read(), 10)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        answer = await self.send(f"{method} {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        head, _, body = answer.decode().partition("\r\n\r\n")
        return int(head.split()[1]), body


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    made = Process()
    server = HealthServer(made.told)
    address = await server.start("127.0.0.1:0")
    made.port = int(address.rpartition(":")[2])
    yield made
    await server.close()


async def test_a_process_that_answers_is_alive_and_ready_unless_something_keeps_it(
    process: Process,
) -> None:
    assert await process.get("/livez") == (200, "alive\n")
    assert await process.get("/readyz") == (200, "ready\n")
    process.reasons = ["the broker is away", "two\nlines \x1b[31mred"]
    assert await process.get("/livez") == (200, "alive\n")
    assert await process.get("/readyz") == (503, "the broker is away\ntwo lines red\n")
    process.reasons = []
    assert await process.get("/readyz?probe=1") == (200, "ready\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/healthz", 404), ("POST", "/livez", 405), ("HEAD", "/livez", 200)],
)
async def test_nothing_but_two_paths_is_answered(
    process: Process, method: str, path: str, status: int
) -> None:
    found, body = await process.get(path, method)
    assert found == status
    assert (body == "") == (method == "HEAD")


@given(raw=st.binary(max_size=300))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_client_sends_the_next_one_is_answered(raw: bytes) -> None:
    async def try_it() -> None:
        made = Process()
        server = HealthServer(made.told)
        made.port = int((await server.start("127.0.0.1:0")).rpartition(":")[2])
        try:
            answer = await made.send(raw)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
            assert await made.get("/livez") == (200, "alive\n")
        finally:
            await server.close()

    asyncio.run(try_it())


async def test_a_head_without_end_is_not_read_to_the_end(process: Process) -> None:
    assert await process.send(b"GET /livez HTTP/1.1\r\nX: " + b"x" * 1_000_000) == b""
    assert await process.get("/livez") == (200, "alive\n")


async def test_clients_that_say_nothing_are_let_go_and_keep_out_nobody_for_long(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CLIENTS", 2)
    monkeypatch.setattr(health, "CLIENT_S", 0.1)
    silent = [await asyncio.open_connection("127.0.0.1", process.port) for _ in range(6)]
    assert [await asyncio.wait_for(reader.read(), 10) for reader, _ in silent] == [b""] * 6
    assert await process.get("/livez") == (200, "alive\n")
    for _, writer in silent:
        writer.close()


async def test_an_address_that_is_taken_is_refused_by_its_variable(process: Process) -> None:
    with pytest.raises(SetupError, match=r"FISK_AI_HEALTH_ADDRESS .* cannot be used: "):
        await HealthServer(process.told).start(f"127.0.0.1:{process.port}")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", ("", 8080)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("pod-1.local:81", ("pod-1.local", 81)),
        ("[::1]:8080", ("::1", 8080)),
    ],
)
def test_an_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "8080", "host", "host:", ":x", ":65536", "::1:80", "a b:1", "u@h:1", ":80\n"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_address(text)
