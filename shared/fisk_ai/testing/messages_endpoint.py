"""A Messages API on loopback: real HTTP, whole and streamed replies, and every way to fail.

In a test::

    async with FakeMessagesEndpoint([text("Moo")]) as endpoint:
        ...  # ask endpoint.url
    assert endpoint.requests[0].body["model"] == "claude-x"

As a process, for tests of the installed command::

    python -m fisk_ai.testing.messages_endpoint --port-file port --answers answers.json

The port file appears when the port is open and holds the address, which is the first line on
stdout, too. The answers file is a list of
objects with the fields of :class:`Answer`; without one every request is answered "Moo". Requests
are appended to ``--log FILE``, one JSON object a line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, cast

from fisk_ai.errors import ConfigError
from fisk_ai.testing.http import HttpRequest, HttpServer, Reply

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One scripted answer.

    ``status`` other than 200 sends ``error_type`` and ``error`` in the API's error form. ``raw``
    is sent in place of anything else, with ``chunk_bytes`` in pieces of that size. ``hang`` never
    answers. ``cut`` breaks a stream off after that many events, a whole reply in its middle.
    ``stream_error`` is the type of an error event sent instead of the end of a stream.
    ``spelling`` replaces the reply's content by JSON text.
    """

    content: Sequence[Mapping[str, object]] = ()
    stop_reason: str = "end_turn"
    usage: Mapping[str, object] = field(
        default_factory=lambda: {"input_tokens": 10, "output_tokens": 5}
    )
    model: str = "claude-test-20260101"
    id: str = "msg_fake"
    status: int = 200
    error_type: str = "invalid_request_error"
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: str | bytes | None = None
    chunk_bytes: int = 0
    hang: bool = False
    cut: int | None = None
    stream_error: str = ""
    spelling: str = ""


_FIELDS: Mapping[str, type] = {
    "content": list,
    "stop_reason": str,
    "usage": dict,
    "model": str,
    "id": str,
    "status": int,
    "error_type": str,
    "error": str,
    "headers": dict,
    "raw": str,
    "chunk_bytes": int,
    "hang": bool,
    "cut": int,
    "stream_error": str,
    "spelling": str,
}
"""What an answer in a file may say, and the JSON type of each."""

_NAMES: Mapping[type, str] = {
    list: "a list",
    str: "a text",
    dict: "an object",
    int: "a whole number",
    bool: "true or false",
}


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived; ``raw`` are its bytes, ``body`` what they say."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json


def text(words: str) -> Answer:
    """Return an answer of one text."""
    return Answer(content=[{"type": "text", "text": words}])


def tool_call(name: str, arguments: Mapping[str, object], *, call_id: str = "toolu_1") -> Answer:
    """Return an answer that calls one tool."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
    return Answer(content=[block], stop_reason="tool_use")


def failure(
    status: int, error_type: str, error: str, *, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an error answer."""
    return Answer(status=status, error_type=error_type, error=error, headers=headers or {})


class FakeMessagesEndpoint:
    """Answers ``POST /v1/messages`` from a queue; the last answer is repeated with ``repeat``."""

    def __init__(
        self, answers: Iterable[Answer] = (), *, repeat: bool = False, log: Path | None = None
    ) -> None:
        """Queue ``answers``; ``log`` gets the body of each request as a line."""
        self._answers = deque(answers)
        self._repeat = repeat
        self._log = log
        self._server = HttpServer(self._handle)
        self._arrived = asyncio.Condition()
        self.requests: list[Received] = []

    @property
    def url(self) -> str:
        """Return the address, for a base URL setting."""
        return self._server.url

    def queue(self, *answers: Answer) -> None:
        """Add answers behind those still waiting."""
        self._answers.extend(answers)

    async def received(self, count: int) -> None:
        """Wait until that many requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def start(self) -> None:
        """Open a free port on loopback."""
        await self._server.start()

    async def stop(self) -> None:
        """Close the port and every connection."""
        await self._server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _handle(self, request: HttpRequest, reply: Reply) -> None:
        path = request.path.partition("?")[0]
        if request.method != "POST" or path != "/v1/messages":
            await reply.send(404, _error("not_found_error", f"no such path: {path}"))
            return
        body = cast("Json", json.loads(request.body))
        async with self._arrived:
            self.requests.append(Received(request.path, request.headers, request.body, body))
            self._arrived.notify_all()
        if self._log is not None:
            await asyncio.to_thread(_append, self._log, json.dumps(body))
        await _give(self._next(), reply, streamed=body.get("stream") is True)

    def _next(self) -> Answer:
        if not self._answers:
            return failure(500, "api_error", "the fake endpoint has no answer left")
        if self._repeat and len(self._answers) == 1:
            return self._answers[0]
        return self._answers.popleft()


async def _give(answer: Answer, reply: Reply, *, streamed: bool) -> None:
    if answer.hang:
        await reply.hang()
    elif answer.raw is not None:
        raw = answer.raw.encode() if isinstance(answer.raw, str) else answer.raw
        await _raw(answer, raw, reply)
    elif answer.status != 200:
        await reply.send(answer.status, _error(answer.error_type, answer.error), answer.headers)
    elif streamed:
        await _stream(answer, reply)
    else:
        await _whole(answer, reply)


async def _raw(answer: Answer, raw: bytes, reply: Reply) -> None:
    if not answer.chunk_bytes:
        await reply.send(answer.status, raw, answer.headers)
        return
    await reply.start_stream(answer.headers)
    for start in range(0, len(raw), answer.chunk_bytes):
        await reply.chunk(raw[start : start + answer.chunk_bytes])
    await reply.end_stream()


async def _whole(answer: Answer, reply: Reply) -> None:
    body = _message(answer, _content_text(answer))
    if answer.cut is None:
        await reply.send(200, body, answer.headers)
        return
    await reply.start_stream({"content-type": "application/json"})
    await reply.chunk(body[: len(body) // 2])
    reply.break_off()


async def _stream(answer: Answer, reply: Reply) -> None:
    await reply.start_stream(answer.headers)
    for number, (name, data) in enumerate(_events(answer)):
        if answer.cut == number:
            reply.break_off()
            return
        await reply.chunk(f"event: {name}\ndata: {data}\n\n".encode())
    await reply.end_stream()


def _error(kind: str, message: str) -> bytes:
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return json.dumps(error).encode()


def _content_text(answer: Answer) -> str:
    return answer.spelling or json.dumps(list(answer.content))


def _message(answer: Answer, content: str) -> bytes:
    fields = json.dumps(
        {
            "id": answer.id,
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "stop_reason": answer.stop_reason,
            "stop_sequence": None,
            "usage": dict(answer.usage),
        }
    )
    return f'{fields[:-1]}, "content": {content}}}'.encode()


def _events(answer: Answer) -> list[tuple[str, str]]:
    usage = {**answer.usage, "output_tokens": 1}
    opening = json.loads(_message(answer, "[]")) | {"stop_reason": None, "usage": usage}
    events = [_event("message_start", message=opening), _event("ping")]
    for index, block in enumerate(cast("list[Json]", json.loads(_content_text(answer)))):
        events += _block_events(index, block)
    if answer.stream_error:
        error = {"type": answer.stream_error, "message": answer.error or "it broke"}
        return [*events, _event("error", error=error)]
    delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    closing = {key: value for key, value in answer.usage.items() if key != "input_tokens"}
    return [*events, _event("message_delta", delta=delta, usage=closing), _event("message_stop")]


def _event(name: str, **members: object) -> tuple[str, str]:
    return name, json.dumps({"type": name, **members})


def _block_events(index: int, block: Json) -> list[tuple[str, str]]:
    opening, deltas = _deltas(block)
    return [
        _event("content_block_start", index=index, content_block=opening),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    """Split a block into its start and what follows, as the real API does."""
    match block.get("type"):
        case "text":
            parts = _halves(str(block.get("text", "")))
            return block | {"text": ""}, [{"type": "text_delta", "text": part} for part in parts]
        case "thinking":
            parts = _halves(str(block.get("thinking", "")))
            deltas: list[Json] = [{"type": "thinking_delta", "thinking": part} for part in parts]
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
            return block | {"thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            parts = ["", *_halves(json.dumps(block.get("input", {})))]
            empty: Json = {}
            return block | {"input": empty}, [
                {"type": "input_json_delta", "partial_json": part} for part in parts
            ]
        case _:
            return block, []


def _halves(words: str) -> list[str]:
    middle = len(words) // 2
    return [part for part in (words[:middle], words[middle:]) if part]


async def _serve(options: argparse.Namespace) -> None:
    answers = [text("Moo")]
    if options.answers:
        answers = await asyncio.to_thread(read_answers, Path(options.answers))
    stopped = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    log = Path(options.log) if options.log else None
    async with FakeMessagesEndpoint(answers, repeat=True, log=log) as endpoint:
        await asyncio.to_thread(_announce, Path(options.port_file), endpoint.url)
        sys.stdout.write(endpoint.url + "\n")
        sys.stdout.flush()
        await stopped.wait()


def read_answers(path: Path) -> list[Answer]:
    """Return the answers that a file lists, in order.

    Raises:
        ConfigError: it cannot be read or holds something else; names the file and the answer.
    """
    try:
        listed: object = json.loads(path.read_bytes())
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}", key="--answers") from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"{path} is no JSON: {exc}", key="--answers") from exc
    if not isinstance(listed, list) or not listed:
        raise ConfigError(f"{path} must be a JSON list with an answer in it", key="--answers")
    items = cast("list[object]", listed)
    return [_answer(item, f"{path}: answer {number}") for number, item in enumerate(items, start=1)]


def _answer(item: object, where: str) -> Answer:
    if not isinstance(item, dict):
        raise ConfigError(f"{where} must be an object", key="--answers")
    fields = cast("dict[str, object]", item)
    for name, value in fields.items():
        wanted = _FIELDS.get(name)
        if wanted is None:
            known = ", ".join(_FIELDS)
            raise ConfigError(f"{where} has no field {name!r}; there are {known}", key="--answers")
        if type(value) is not wanted:
            kind = _NAMES[wanted]
            raise ConfigError(f"{where}: {name} must be {kind}", key="--answers")
    if not all(
        isinstance(block, dict) for block in cast("list[object]", fields.get("content", []))
    ):
        raise ConfigError(f"{where}: content must be a list of blocks", key="--answers")
    return Answer(**fields)  # pyright: ignore[reportArgumentType] - each was looked at above


def _append(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def _announce(port_file: Path, url: str) -> None:
    unfinished = port_file.with_suffix(".part")
    unfinished.write_text(url, encoding="utf-8")
    unfinished.replace(port_file)  # whoever waits for the file never reads half of it


_ANSWERS_HELP = f"""\
--answers FILE is a JSON list; the n-th request gets the n-th answer, and the last one repeats:

  [{{"content": [{{"type": "tool_use", "id": "toolu_1", "name": "say", "input": {{}}}}],
    "stop_reason": "tool_use"}},
   {{"status": 529, "error_type": "overloaded_error", "error": "busy"}},
   {{"content": [{{"type": "text", "text": "Moo"}}]}}]

Every field may be left out: {", ".join(_FIELDS)}.
docs/reference/testing.md says what they do."""


def main() -> int:
    """Serve until SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(
        description="A fake Messages API on loopback.",
        epilog=_ANSWERS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port-file", required=True, help="file to write the address to")
    parser.add_argument("--answers", default="", help="JSON list of answers; the last repeats")
    parser.add_argument("--log", default="", help="file that gets each request's body as a line")
    try:
        asyncio.run(_serve(parser.parse_args()))
    except ConfigError as exc:
        sys.stderr.write(f"messages_endpoint: error: {exc}\n")
        return 1
    except OSError as exc:
        sys.stderr.write(f"messages_endpoint: error: {exc.filename}: {exc.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
