"""What the verbs of ``fisk-ai job`` have in common: the broker, the queue, and its agent."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from fisk_ai.a2a.queued import JOB_TYPE
from fisk_ai.bus import contexts
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.job import PROGRAM
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.errors import UsageError
from fisk_ai.jobs.names import NAME_LIMIT, valid_name
from fisk_ai.jobs.store import JobStore

DEFAULT_QUEUE: Final = "FISK_AI"
"""The queue of an agent whose configuration names none."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Target:
    """Which queue is meant, whose it is where that is known, and over which context."""

    queue: str = DEFAULT_QUEUE
    job_type: str = JOB_TYPE
    identity: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a broker, and the connection to it."""

    connection: Connection
    store: JobStore


def parser_of(verb: str, description: str) -> CommandParser:
    """Return the parser of a verb with the flags of the group."""
    parser = CommandParser(f"{PROGRAM} {verb}", description)
    parser.value("--config", "FILE", "use the queue and the broker of this configuration")
    parser.value("--nats-context", "NAME", "use the broker of this NATS context")
    return parser


def target_of(arguments: argparse.Namespace) -> Target:
    """Return the queue that the flags name, a typed one before the configuration's.

    Raises:
        ConfigError: the configuration cannot be used.
        UsageError: the queue's name cannot be one.
    """
    found = _configured(arguments.config)
    typed: str | None = getattr(arguments, "queue", None)
    if typed is not None and not valid_name(typed):
        raise UsageError(
            f"--queue takes at most {NAME_LIMIT} letters, digits, _, - and :", key="--queue"
        )
    return Target(
        typed or found.queue,
        found.job_type,
        found.identity,
        arguments.nats_context or found.context,
    )


def with_jobs(target: Target, work: Callable[[Jobs], Coroutine[object, object, _T]]) -> _T:
    """Do ``work`` with the jobs of the target's broker; raises what it does.

    Raises:
        ConfigError, SetupError: no broker is named, or it cannot be reached.
        KeyboardInterrupt: a signal cancelled it.
    """
    options = contexts.named_or_given(
        target.context,
        "job",
        os.environ,
        url=os.environ.get("FISK_AI_NATS_URL", "").strip(),
        creds=os.environ.get("FISK_AI_NATS_CREDS", "").strip(),
    )

    async def connected() -> _T:
        connection = await connect(options)
        try:
            js = JetStream(connection, api_prefix=options.api_prefix)
            return await work(Jobs(connection, JobStore(js)))
        finally:
            await connection.drain()

    return run_one_shot(connected())


def _configured(path: str | None) -> Target:
    if path is None:
        return Target()
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(path), Mode.LENIENT)
    jobs = config.expose.agent.jobs
    if jobs is None:
        return Target(identity=config.identity, context=config.nats_context)
    context = jobs.nats_context or config.nats_context
    return Target(jobs.queue, jobs.task_type, config.identity, context)
