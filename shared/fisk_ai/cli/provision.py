"""``fisk-ai provision``: the storage that configurations need, printed, compared or made.

Services bind what is there and make nothing. Nothing is ever deleted, and nothing changed in a way
that could lose what is stored. Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fisk_ai.bus import contexts
from fisk_ai.bus.connection import connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.bus.provisioning import Finding, Wish, apply, look
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.run_flags import DEFAULT_CONFIG
from fisk_ai.cli.session_flags import number_of
from fisk_ai.config import Config, Mode, load
from fisk_ai.errors import NotBuiltError, SetupError, StreamError, UsageError
from fisk_ai.memory.bucket_option import bucket_of
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.memory.store import MemoryConfig
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.stream_option import stream_of
from fisk_ai.sessions.stream_place import MESSAGE_SIZE_BYTES
from fisk_ai.text.sanitise import for_terminal

REPLICAS_LIMIT: Final = 5
"""As many as a server takes."""

OLDEST_SERVER: Final = (2, 14)
"""Older ones do not know the fence that keeps two writers of a session apart."""

LINE_LIMIT: Final = 1_000

_JETSTREAM: Final = "jetstream"
_LATER: Final = {
    "isolate": "--isolate is not built yet: it is for durable turns; leave it out",
    "permissions": "--permissions is not built yet: write the broker's users by hand",
}


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai provision`` with its arguments and return the exit code."""
    arguments = _parser().parse_args(argv)
    for flag, refusal in _LATER.items():
        if getattr(arguments, flag):
            raise NotBuiltError(refusal, key=f"--{flag}")
    replicas = number_of(arguments.replicas, "--replicas", least=1, default=1)
    if replicas > REPLICAS_LIMIT:
        raise UsageError(f"--replicas takes at most {REPLICAS_LIMIT}", key="--replicas")
    paths = arguments.config or [DEFAULT_CONFIG]
    configs = [load(Path(path), Mode.LENIENT) for path in paths]
    wishes = list(_unique(wish for config in configs for wish in _wishes(config, replicas)))
    if not wishes:
        print("nothing to provision: every session and memory is kept in files", file=sys.stderr)
        return 0
    if not (arguments.apply or arguments.context):
        _print_commands(wishes)
        return 0
    return run_one_shot(_compare(_broker(arguments, configs), wishes, applies=arguments.apply))


def _parser() -> CommandParser:
    parser = CommandParser("fisk-ai provision", "Print or apply the storage an agent needs.")
    parser.value(
        "--config", "FILE", "a configuration that needs it (default agent.yaml)", repeatable=True
    )
    parser.value("--context", "NAME", "compare with the broker of this NATS context")
    parser.switch("--apply", "make what is missing and change what loses nothing")
    parser.value("--replicas", "N", "copies of each stream in a cluster (default 1)")
    parser.switch("--isolate", "[not built yet] a set of streams for each identity")
    parser.switch("--permissions", "[not built yet] print a broker's users for the roles")
    return parser


def _wishes(config: Config, replicas: int) -> Iterator[Wish]:
    """Yield what one configuration keeps at a broker."""
    sessions, memory = config.harness.sessions, config.harness.memory
    with config.placing():
        if sessions.backend == _JETSTREAM:
            stream = stream_of(StoreConfig(options=sessions.options))
            yield stream_wish(stream, replicas=replicas)
        if memory.enabled and memory.backend == _JETSTREAM:
            option = bucket_of(MemoryConfig(identity=config.identity, options=memory.options))
            yield bucket_wish(option.bucket, replicas=replicas)


def _unique(wishes: Iterator[Wish]) -> Iterator[Wish]:
    """Yield each object once, though several agents share it."""
    seen: set[str] = set()
    for wish in wishes:
        if wish.place not in seen:
            seen.add(wish.place)
            yield wish


def _print_commands(wishes: Sequence[Wish]) -> None:
    for wish in wishes:
        print(f"# {wish.key}\n{wish.command}")


def _broker(arguments: argparse.Namespace, configs: Sequence[Config]) -> ConnectOptions:
    """Return the broker to look at: the context that was typed, else the one all files name."""
    named = {config.nats_context for config in configs}
    if not arguments.context and len(named) > 1:
        raise UsageError(
            "the configurations name several contexts; say which with --context", key="--context"
        )
    return contexts.named_or_given(
        arguments.context or named.pop(),
        "provision",
        os.environ,
        url=os.environ.get("FISK_AI_NATS_URL", "").strip(),
        creds=os.environ.get("FISK_AI_NATS_CREDS", "").strip(),
    )


async def _compare(options: ConnectOptions, wishes: Sequence[Wish], *, applies: bool) -> int:
    connection = await connect(options)
    try:
        _require_fit(connection.server_version, connection.max_payload, options)
        js = JetStream(connection, api_prefix=options.api_prefix)
        refused = False
        for wish in wishes:
            finding = await look(js, wish)
            refused |= finding.refused
            if applies:
                refused |= not await _applied(js, finding)
            else:
                _tell_missing(finding)
            for line in finding.lines:
                _say(wish, line)
    finally:
        await connection.drain()
    return 1 if refused else 0


async def _applied(js: JetStream, finding: Finding) -> bool:
    try:
        await apply(js, finding)
    except StreamError as exc:
        _say(finding.wish, f"failed: {exc}")
        return False
    return True


def _tell_missing(finding: Finding) -> None:
    if not finding.exists:
        _print_commands([finding.wish])


def _say(wish: Wish, line: str) -> None:
    print(for_terminal(f"{wish.place}: {line}", LINE_LIMIT), file=sys.stderr)


def _require_fit(version: str, max_payload: int, options: ConnectOptions) -> None:
    """Refuse a server on which sessions would not be safe, or fail in the middle."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise SetupError(
            f"{options.place()} runs nats-server {for_terminal(version, 40) or 'of no version'};"
            f" {oldest} or newer is needed",
            key="nats_context",
        )
    if max_payload < MESSAGE_SIZE_BYTES:
        raise SetupError(
            f"{options.place()} takes messages of at most {max_payload} bytes; raise max_payload to"
            f" {MESSAGE_SIZE_BYTES} or more",
            key="nats_context",
        )
