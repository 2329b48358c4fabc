"""Records for tests: the shortest way to write down a session."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from fisk_ai.llm.model import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions import codec
from fisk_ai.sessions.records import (
    Assistant,
    Claim,
    Fingerprint,
    Meta,
    Payload,
    Reason,
    Record,
    Terminal,
    ToolKind,
    ToolResult,
    User,
)
from fisk_ai.sessions.store import Journal, Store
from fisk_ai.text import clock

TIME = "2026-07-24T09:15:02.5Z"
"""When everything in a test happens, unless a test says otherwise."""


def fingerprint(**changes: str | int) -> Fingerprint:
    """Return what a test's session was started with."""
    values: dict[str, str | int] = {
        "provider": "scripted",
        "model": "small",
        "system_hash": "5" * 64,
        "tools_hash": "7" * 64,
        "thinking_mode": "off",
        "max_tokens": 1000,
        "max_iterations": 20,
    }
    return Fingerprint(**(values | changes))  # pyright: ignore[reportArgumentType] - a test's own words


def meta(prompt: str = "hello", *, agent: str = "", created: str = TIME, request: str = "") -> Meta:
    """Return the record that opens a session; its store fills in the id."""
    return Meta(
        run_id="session",
        created=created,
        fingerprint=fingerprint(),
        prompt=prompt,
        agent=agent,
        request=request,
    )


def assistant(
    *calls: str, say: str = "", iteration: int = 0, stop_reason: str = "", tokens: int = 10
) -> Assistant:
    """Return a reply that says something, asks for calls by their ids, or both."""
    content: list[Block] = [TextBlock(say)] if say else []
    content += [ToolUseBlock(call, "say", b'{"message":"Moo"}') for call in calls]
    return Assistant(
        iteration=iteration,
        message=Message("assistant", tuple(content)),
        stop_reason=stop_reason or ("tool_use" if calls else "end_turn"),
        in_tokens=tokens,
        out_tokens=tokens,
    )


def result(call: str, content: str = "done", *, kind: ToolKind = "application") -> ToolResult:
    """Return the answer of a call that was dispatched."""
    return ToolResult(
        tool_use_id=call, result=ToolResultBlock(call, content), kind=kind, dispatched=True
    )


def user(text: str, *, request: str = "") -> User:
    """Return a follow-up prompt."""
    return User(message=Message("user", (TextBlock(text),)), request=request)


def terminal(reason: Reason = "completed") -> Terminal:
    """Return the end of a run."""
    return Terminal(reason=reason)


def claim() -> Claim:
    """Return the mark of a resume."""
    return Claim(by="worker", claimed=TIME)


def journal(*payloads: Payload) -> list[Record]:
    """Return the records of a session that begins with :func:`meta`, numbered and timed."""
    numbered = enumerate((meta(), *payloads), start=1)
    return [codec.record_of(seq, payload, time=TIME) for seq, payload in numbered]


def write_file(
    directory: Path, run_id: str, *payloads: Payload, opening: Meta | None = None, step_s: int = 1
) -> Path:
    """Write a session file whose records lie ``step_s`` seconds apart, the first at its creation.

    A negative step leaves the times out, as old journals do.
    """
    first = replace(opening or meta(), run_id=run_id)
    created_ns = clock.rfc3339_ns(first.created)
    lines: list[bytes] = []
    for seq, payload in enumerate((first, *payloads), start=1):
        time = clock.rfc3339(created_ns + (seq - 1) * step_s * 1_000_000_000)
        stamp = time if step_s >= 0 else ""
        lines.append(codec.encode(codec.record_of(seq, payload, time=stamp)) + b"\n")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{run_id}.json"
    path.write_bytes(b"".join(lines))
    return path


@asynccontextmanager
async def writing(store: Store, run_id: str, *payloads: Payload) -> AsyncGenerator[Journal]:
    """Create a session, append to it, and hold it for the length of the block."""
    handle = await store.create(run_id, meta())
    try:
        for payload in payloads:
            await handle.append(handle.last_seq() + 1, payload)
        yield handle
    finally:
        await handle.close()


async def write(store: Store, run_id: str, *payloads: Payload) -> None:
    """Create a session that nobody holds afterwards."""
    async with writing(store, run_id, *payloads):
        pass
