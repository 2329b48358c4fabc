"""``fisk-ai provision`` at a broker: a line for each object, and with ``--apply`` what it says.

Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from fisk_ai.bus.connection import connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.bus.provisioning import Finding, apply, look
from fisk_ai.bus.wishes import StreamWish, Wish
from fisk_ai.errors import SetupError, StreamError
from fisk_ai.sessions.stream_place import MESSAGE_SIZE_BYTES, SERVER_NEEDED
from fisk_ai.text.sanitise import for_terminal

LINE_LIMIT: Final = 1_000


def print_commands(wishes: Sequence[Wish]) -> None:
    """Print the commands of the ``nats`` tool that make what is wished for."""
    for wish in wishes:
        print(f"# {wish.key}\n{wish.command}")


async def compare(options: ConnectOptions, wishes: Sequence[Wish], *, applies: bool) -> int:
    """Say of each wish what is there, with ``applies`` see to it, and return the exit code.

    Raises:
        SetupError: the broker cannot be reached, or must not be used.
        BusError: it cannot be asked.
    """
    connection = await connect(options)
    try:
        _require_fit(connection.server_version, connection.max_payload, options)
        js = JetStream(connection, api_prefix=options.api_prefix)
        complete = True
        called: dict[str, str] = {}
        for wish in wishes:
            finding = await look(js, _as_called(wish, called))
            called[wish.place] = finding.wish.place
            if not applies:
                _tell_missing(finding)
            complete &= await _settled(js, finding, applies=applies)
    finally:
        await connection.drain()
    return 0 if complete else 1


def _as_called(wish: Wish, called: Mapping[str, str]) -> Wish:
    """Return the wish for a consumer of a stream that its operator renamed."""
    return wish if isinstance(wish, StreamWish) else wish.on(called.get(wish.stream, wish.stream))


async def _settled(js: JetStream, finding: Finding, *, applies: bool) -> bool:
    """Do what is to be done, say what was, and return whether nothing is left to be done."""
    try:
        if applies:
            await apply(js, finding)
    except StreamError as exc:
        _say(finding.wish, f"failed: {exc}")
        return False
    for line in finding.lines if applies or finding.exists else ("missing",):
        _say(finding.wish, line)
    return not finding.refused


def _tell_missing(finding: Finding) -> None:
    if not finding.exists:
        print_commands([finding.wish])


def _say(wish: Wish, line: str) -> None:
    print(for_terminal(f"{wish.place}: {line}", LINE_LIMIT), file=sys.stderr)


def _require_fit(version: str, max_payload: int, options: ConnectOptions) -> None:
    """Refuse a server on which sessions would not be safe, or fail in the middle."""
    found = re.match(r"(\d+)\.(\d+)", version)
    needed = tuple(map(int, SERVER_NEEDED.split(".")))
    if found is None or (int(found[1]), int(found[2])) < needed:
        raise SetupError(
            f"{options.place()} runs nats-server {for_terminal(version, 40) or 'of no version'};"
            f" {SERVER_NEEDED} or newer is needed",
            key="nats_context",
        )
    if max_payload < MESSAGE_SIZE_BYTES:
        raise SetupError(
            f"{options.place()} takes messages of at most {max_payload} bytes; raise max_payload to"
            f" {MESSAGE_SIZE_BYTES} or more",
            key="nats_context",
        )
