"""``fisk-ai provision``: the storage that configurations need, printed, compared or made.

Services bind what is there and make nothing. Nothing is ever deleted, and nothing changed in a way
that could lose what is stored. Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fisk_ai.a2a.durable import provisioning as turns
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.bus import contexts
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.bus.rights import provisioning
from fisk_ai.bus.wishes import SHARED, Isolation, Wish
from fisk_ai.cli.arguments import DEFAULT_CONFIG, CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.provision_diff import compare, print_commands
from fisk_ai.cli.provision_permissions import printed
from fisk_ai.cli.provision_roles import Agent
from fisk_ai.cli.session_flags import number_of
from fisk_ai.config import Config, Mode, load
from fisk_ai.errors import ConfigError, SetupError, UsageError
from fisk_ai.jobs.provisioning import wishes as queue_wishes
from fisk_ai.memory.bucket_option import BUCKET_KEY, bucket_of
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.memory.store import MemoryConfig
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.stream_option import OPTION_KEY, stream_of

REPLICAS_LIMIT: Final = 5
"""As many as a server takes."""

IDENTITY_LIMIT: Final = 64
"""Characters of an identity that names streams and consumers."""

_JETSTREAM: Final = "jetstream"

_OWN: Final = (OPTION_KEY, BUCKET_KEY)
"""Keys that name what an agent has for itself where agents are kept apart."""


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai provision`` with its arguments and return the exit code."""
    arguments = _parser().parse_args(argv)
    replicas = number_of(arguments.replicas, "--replicas", least=1, default=1)
    if replicas > REPLICAS_LIMIT:
        raise UsageError(f"--replicas takes at most {REPLICAS_LIMIT}", key="--replicas")
    paths = arguments.config or [DEFAULT_CONFIG]
    configs = [_loaded(path) for path in paths]
    if arguments.permissions:
        _print_permissions(arguments, configs)
        return 0
    wishes = _wished(configs, replicas, isolate=arguments.isolate)
    if not wishes:
        print("nothing to provision: these agents keep nothing at a broker", file=sys.stderr)
        return 0
    if not (arguments.apply or arguments.context):
        print_commands(wishes)
        return 0
    return run_one_shot(compare(_broker(arguments, configs), wishes, applies=arguments.apply))


async def provision(options: ConnectOptions, configs: Sequence[Config]) -> None:
    """Make at the broker of ``options`` what ``configs`` need of it, and say each line of it.

    Raises:
        SetupError: the broker cannot be used, or what is there could only be changed with a loss.
        BusError: it cannot be asked.
    """
    wishes = _wished(configs, 1, isolate=False)
    if wishes and await compare(options, wishes, applies=True):
        raise SetupError(
            f"{options.place()} holds what this agent cannot use, see the lines above; mend it, or"
            " begin with another store",
            key="harness",
        )


def _parser() -> CommandParser:
    parser = CommandParser("fisk-ai provision", "Print or apply the storage an agent needs.")
    parser.value(
        "--config", "FILE", "a configuration that needs it (default agent.yaml)", repeatable=True
    )
    parser.value("--context", "NAME", "compare with the broker of this NATS context")
    parser.switch("--apply", "make what is missing and change what loses nothing")
    parser.value("--replicas", "N", "copies of each stream in a cluster (default 1)")
    parser.switch("--isolate", "a set of streams for each identity, in place of one for all")
    parser.switch("--permissions", "print the configuration of a broker with a user for each role")
    return parser


def _loaded(path: str) -> Config:
    config = load(Path(path), Mode.LENIENT)
    if len(config.identity) > IDENTITY_LIMIT:
        error = ConfigError(
            f"identity: what is provisioned is named after it, with at most {IDENTITY_LIMIT}"
            " characters; choose a shorter one",
            key="identity",
        )
        raise config.placed(error)
    return config


def _wished(configs: Sequence[Config], replicas: int, *, isolate: bool) -> list[Wish]:
    """Return each object once, though several agents share it.

    Raises:
        ConfigError: two agents that are to be kept apart share one that is named in their files, or
            one works on jobs, whose records are all agents'.
    """
    wished: dict[str, Wish] = {}
    for config in configs:
        if isolate:
            _require_apart(config)
        for wish in _wishes(config, replicas, _whose(config, isolate=isolate)):
            if isolate and wish.place in wished and wish.key in _OWN:
                raise config.placed(_shares(wish))
            wished.setdefault(wish.place, wish)
    return list(wished.values())


def _print_permissions(arguments: argparse.Namespace, configs: Sequence[Config]) -> None:
    if arguments.apply or arguments.context:
        raise UsageError(
            "--permissions only prints, and asks no broker; leave --apply and --context out",
            key="--permissions",
        )
    agents: list[Agent] = []
    for config in configs:
        if arguments.isolate:
            _require_apart(config)
        whose = _whose(config, isolate=arguments.isolate)
        wishes = _wishes(config, 1, whose)
        rights = tuple(right for wish in wishes for right in provisioning(wish))
        agents.append(Agent(config, whose, rights))
    print(printed(agents), end="")


def _whose(config: Config, *, isolate: bool) -> Isolation:
    return Isolation(config.identity) if isolate else SHARED


def _require_apart(config: Config) -> None:
    """Refuse jobs of an agent that is to be kept apart: their engine has one stream for all."""
    if config.expose.agent.jobs is not None:
        raise config.placed(
            ConfigError(
                "expose.agent.jobs cannot be isolated: the records of all jobs lie in one stream,"
                " and any worker of a queue takes its jobs; give agents that do not trust one"
                " another accounts of their own",
                key="expose.agent.jobs",
            )
        )


def _shares(wish: Wish) -> ConfigError:
    return ConfigError(
        f"{wish.key}: another of these agents names {wish.name}, too, and --isolate keeps them"
        " apart; name one for each",
        key=wish.key,
    )


def _wishes(config: Config, replicas: int, whose: Isolation) -> Iterator[Wish]:
    """Yield what one configuration keeps at a broker; ``whose`` names what it has no name for."""
    sessions, memory = config.harness.sessions, config.harness.memory
    with config.placing():
        if sessions.backend == _JETSTREAM:
            stream = stream_of(StoreConfig(options=sessions.options))
            yield stream_wish(stream, replicas=replicas)
        if memory.enabled and memory.backend == _JETSTREAM:
            option = bucket_of(MemoryConfig(identity=config.identity, options=memory.options))
            yield bucket_wish(option.bucket, replicas=replicas)
        if config.expose.agent.slack is not None:
            key, channels = "expose.agent.slack", [SLACK.name]
            yield from turns.wishes(
                config.identity, channels, key=key, replicas=replicas, whose=whose
            )
        if config.expose.agent.jobs is not None:
            queue = config.expose.agent.jobs.queue
            yield from queue_wishes(queue, replicas=replicas)


def _broker(arguments: argparse.Namespace, configs: Sequence[Config]) -> ConnectOptions:
    """Return the broker to look at: the context that was typed, else the one all files name."""
    named = {config.nats_context for config in configs}
    if not arguments.context and len(named) > 1:
        raise UsageError(
            "the configurations name several contexts; say which with --context", key="--context"
        )
    return contexts.from_environment(arguments.context or named.pop(), "provision", os.environ)
