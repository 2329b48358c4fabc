"""The commands that ``fisk-ai provision`` prints make what ``--apply`` makes.

They are read as ``nats`` reads them; that it takes them was seen with ``nats`` 0.5 itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
import pytest

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import parse_duration
from fisk_ai.testing.workshop import Types, Workshop

pytestmark = pytest.mark.integration

PLAIN_BYTES = 2**31 - 1
"""The largest number of bytes that ``nats`` takes without a unit."""

Read = Callable[[str], object]


def byte_count(text: str) -> int:
    if text.lstrip("-").isdecimal():
        assert int(text) <= PLAIN_BYTES
        return int(text)
    unit = "BKMGT".index(text.rstrip("iB")[-1])
    return int(text.rstrip("iB")[:-1]) * 1024**unit


def nanoseconds(text: str) -> int:
    return round(parse_duration(text) * 1_000_000_000)


def retention(text: str) -> str:
    return {"work": "workqueue"}.get(text, text)


def pair(text: str) -> dict[str, str]:
    name, _, value = text.partition("=")
    return {name: value}


STREAM: dict[str, tuple[str, Read]] = {
    "subjects": ("subjects", lambda text: [text]),
    "description": ("description", str),
    "storage": ("storage", str),
    "retention": ("retention", retention),
    "discard": ("discard", str),
    "max-msgs-per-subject": ("max_msgs_per_subject", int),
    "max-age": ("max_age", nanoseconds),
    "max-bytes": ("max_bytes", byte_count),
    "max-msg-size": ("max_msg_size", byte_count),
    "dupe-window": ("duplicate_window", nanoseconds),
    "replicas": ("num_replicas", int),
    "metadata": ("metadata", pair),
}
BUCKET: dict[str, tuple[str, Read]] = {
    "history": ("max_msgs_per_subject", int),
    "description": ("description", str),
    "storage": ("storage", str),
    "ttl": ("max_age", nanoseconds),
    "max-value-size": ("max_msg_size", byte_count),
    "replicas": ("num_replicas", int),
    "metadata": ("metadata", pair),
}
CONSUMER: dict[str, tuple[str, Read]] = {
    "filter": ("filter_subject", str),
    "ack": ("ack_policy", str),
    "wait": ("ack_wait", nanoseconds),
    "max-deliver": ("max_deliver", int),
    "max-pending": ("max_ack_pending", int),
    "deliver": ("deliver_policy", str),
    "replay": ("replay_policy", str),
}
SWITCHES: dict[str, tuple[str, object]] = {
    "discard-per-subject": ("discard_new_per_subject", True),
    "pull": ("deliver_subject", None),
    "defaults": ("", None),
}


class _Found(msgspec.Struct):
    config: dict[str, object]


def properties(words: Iterator[str], flags: dict[str, tuple[str, Read]]) -> dict[str, object]:
    """Read flags as properties; one that is not in the table fails the test."""
    read: dict[str, object] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        if name in SWITCHES:
            key, given = SWITCHES[name]
        else:
            key, of = flags[name]
            given = of(value or next(words))
        read[key] = given
    read.pop("", None)
    return read


def understood(command: str) -> tuple[str, dict[str, object]]:
    """Return what a command would make, by its place in the API."""
    program, kind, verb, name, *rest = shlex.split(command)
    assert (program, verb) == ("nats", "add")
    if kind == "consumer":
        return f"CONSUMER.INFO.{name}.{rest[0]}", properties(iter(rest[1:]), CONSUMER)
    if kind == "kv":
        return f"STREAM.INFO.KV_{name}", properties(iter(rest), BUCKET)
    return f"STREAM.INFO.{name}", properties(iter(rest), STREAM)


@pytest.mark.parametrize("words", [(), ("--isolate",)], ids=["shared", "isolated"])
async def test_a_printed_command_makes_what_is_applied(
    fleet: Workshop, caller: Connection, fleet_types: Types, words: tuple[str, ...]
) -> None:
    written = (fleet.directory / "agent.yaml").read_text()
    more = "slack: {}" if words else "jobs: {}, slack: {}"  # which cannot be kept apart
    fleet.write("agent.yaml", written.replace("prompts: {}}", f"prompts: {{}}}}, {more}"))
    printed = await fleet_types("provision", *words)
    commands = [line for line in printed.out.splitlines() if not line.startswith("#")]
    done = await fleet_types("provision", "--apply", *words, FISK_AI_NATS_URL=fleet.url)
    assert done.err.splitlines()
    assert {line.rpartition(": ")[2] for line in done.err.splitlines()} == {"created"}
    for place, wanted in map(understood, commands):
        found = (await JetStream(caller).api(place, {}, _Found)).config
        own = {name: found.get(name) for name in wanted}
        if "metadata" in own:  # the server adds its own
            metadata = cast("dict[str, str]", found["metadata"])
            own["metadata"] = {"fisk-ai-layout": metadata.get("fisk-ai-layout")}
        assert own == wanted, place
