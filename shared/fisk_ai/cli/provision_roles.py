"""The roles of a fleet: which of them configurations have, and what the broker must let each do.

Decided here: a role may do what its process does and nothing else. Whoever answers requests may
publish to the inboxes of those roles that ask it, and each role hears one inbox prefix, its own.
Rules: ``docs/how-to/nats-permissions.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fisk_ai.a2a import subjects
from fisk_ai.bus.wishes import SHARED, Isolation
from fisk_ai.cli import provision_storage as storage
from fisk_ai.config import Config

WORKER: Final = "worker"
STORE: Final = "worker-store"
"""The second connection of a worker whose configuration names another context for what it keeps."""

PEER: Final = "peer"
SLACK: Final = "slack"
MCP: Final = "mcp"
INDEXER: Final = "indexer"
OPERATOR: Final = "operator"

ROLES: Final[Mapping[str, str]] = {
    WORKER: "runs the agent and answers for it",
    STORE: "what the worker keeps, over a connection of its own",
    PEER: "another agent or program that may ask this one",
    SLACK: "the Slack gateway",
    MCP: "the MCP gateway",
    INDEXER: "the knowledge indexer",
    OPERATOR: "a person who provisions, looks into sessions, answers and decides",
}
"""Every role there is, in the order they are told, with what it is."""

_CONTROL: Final = ("cancel", "elicit")
_IMPORTS: Final = "_R_.>"
"""Where replies to another account go."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, whose storage it uses, and what it takes to provision it."""

    config: Config
    whose: Isolation = SHARED
    provisions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What a role does for one agent: subjects, and whose requests it makes and answers."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    def __or__(self, other: Part) -> Part:
        """Return both together, each thing once."""
        return Part(
            _once(self.publish, other.publish),
            _once(self.subscribe, other.subscribe),
            _once(self.asks, other.asks),
            _once(self.answers, other.answers),
        )


@dataclass(frozen=True, slots=True)
class Role:
    """A user of the broker; ``accepts`` are the inbox prefixes its process has to accept."""

    name: str
    kind: str
    publish: Sequence[str]
    subscribe: Sequence[str]
    accepts: Sequence[str] = field(default=())

    @property
    def what(self) -> str:
        """What it is."""
        return ROLES[self.kind]

    @property
    def is_second_connection(self) -> bool:
        """Whether the process is another role's, whose variables it has."""
        return self.kind == STORE

    @property
    def inbox(self) -> str:
        """The prefix of its own inboxes."""
        return inbox_of(self.name)


def inbox_of(role: str) -> str:
    """Return the prefix of a role's inboxes."""
    return f"_INBOX_{role}"


def roles(agents: Sequence[Agent]) -> list[Role]:
    """Return the roles that these agents have; those of an agent that is apart are its own.

    Raises:
        ConfigError: an option of what is kept at a broker that cannot be used.
    """
    parts: dict[str, Part] = {}
    kinds: dict[str, str] = {}
    for kind in ROLES:
        for agent in agents:
            name = agent.whose.name(kind)
            for part in _PARTS[kind](agent):
                kinds[name] = kind
                parts[name] = parts.get(name, Part()) | part
    return [_role(name, kinds[name], parts) for name in parts]


def _role(name: str, kind: str, parts: Mapping[str, Part]) -> Role:
    """Return a role with the inboxes it hears and those it replies to."""
    part = parts[name]
    callers = [inbox_of(other) for other in parts if set(parts[other].asks) & set(part.answers)]
    replies = [*(f"{prefix}.>" for prefix in callers), _IMPORTS] if part.answers else []
    return Role(
        name=name,
        kind=kind,
        publish=_once(part.publish, replies),
        subscribe=_once(part.subscribe, [f"{inbox_of(name)}.>"]),
        accepts=callers,
    )


def _worker(agent: Agent) -> Iterator[Part]:
    config = agent.config
    if not _serves(config):
        return
    identity = config.identity
    yield Part(
        publish=(f"fisk.session.{identity}.*", f"$SRV.INFO.{identity}"),
        subscribe=(
            f"choria.fisk-ai.*.{identity}",
            *_controls(identity),
            f"fisk.session.{identity}.*",
            f"fisk.operator.{identity}",
            "$SRV.>",
        ),
        asks=(_agent(identity),),
        answers=(_agent(identity),),
    )
    if config.imports_tools:
        for peer in config.remote_tools:
            yield _calling(peer.name)
    if config.harness.knowledge.enabled:
        yield Part((f"fisk.knowledge.{identity}.*",), asks=(_knowledge(identity),))
    for context, rights in storage.kept(config, agent.whose):
        if context == config.nats_context:
            yield Part(rights)


def _store(agent: Agent) -> Iterator[Part]:
    config = agent.config
    if _serves(config):
        for context, rights in storage.kept(config, agent.whose):
            if context != config.nats_context:
                yield Part(rights)


def _peer(agent: Agent) -> Iterator[Part]:
    config = agent.config
    identity, a2a = config.identity, config.expose.agent.a2a
    if config.answers_prompts:
        yield _prompting(identity)
    if a2a is not None and a2a.serve_tools:
        yield _calling(identity)


def _slack(agent: Agent) -> Iterator[Part]:
    config = agent.config
    if config.expose.agent.slack is not None:
        yield _asking(config.identity, *_controls(config.identity))
        yield Part(storage.gateway(config.identity, "slack", agent.whose))


def _mcp(agent: Agent) -> Iterator[Part]:
    config = agent.config
    if config.expose.agent.mcp is not None:
        identity = config.identity
        yield _asking(identity, f"choria.fisk-ai.mcp.{identity}", *_controls(identity))


def _indexer(agent: Agent) -> Iterator[Part]:
    config = agent.config
    if config.harness.knowledge.enabled:
        identity = config.identity
        root = f"fisk.knowledge.{identity}"
        yield Part(
            publish=(f"{root}.event.indexed",),
            subscribe=(f"{root}.*", f"{root}.admin.*", "$SRV.>"),
            answers=(_knowledge(identity),),
        )


def _operator(agent: Agent) -> Iterator[Part]:
    config = agent.config
    identity = config.identity
    if _serves(config):
        yield _asking(identity, subjects.discovery(identity))
    if config.answers_prompts:
        yield _prompting(identity)
    if config.takes_work:
        yield _asking(identity, f"fisk.session.{identity}.*", f"fisk.operator.{identity}")
    if config.harness.knowledge.enabled:
        root = f"fisk.knowledge.{identity}"
        yield Part((f"{root}.*", f"{root}.admin.*"), asks=(_knowledge(identity),))
    yield from map(Part, storage.operated(config, agent.whose))
    if agent.provisions:
        yield Part(tuple(agent.provisions), storage.watched(config))


_PARTS: Final = {
    WORKER: _worker,
    STORE: _store,
    PEER: _peer,
    SLACK: _slack,
    MCP: _mcp,
    INDEXER: _indexer,
    OPERATOR: _operator,
}


def _prompting(identity: str) -> Part:
    asked = (subjects.discovery(identity), subjects.task(identity), *_controls(identity))
    return _asking(identity, *asked)


def _calling(identity: str) -> Part:
    return _asking(identity, subjects.discovery(identity), subjects.tool(identity))


def _asking(identity: str, *publish: str) -> Part:
    return Part(publish, asks=(_agent(identity),))


def _controls(identity: str) -> tuple[str, ...]:
    return tuple(f"choria.fisk-ai.{verb}.{identity}.*" for verb in _CONTROL)


def _serves(config: Config) -> bool:
    agent = config.expose.agent
    tools = agent.a2a is not None and agent.a2a.serve_tools
    return config.takes_work or tools or agent.mcp is not None


def _agent(identity: str) -> str:
    return f"agent {identity}"


def _knowledge(identity: str) -> str:
    return f"knowledge {identity}"


def _once(*listed: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in listed for item in items))
