"""What a model provider is, and the registry that finds one by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.llm.model import Delta, Request, Response

OPTIONS_KEY = "llm.options"
"""Where the options of a provider stand."""

DeltaSink = Callable[["Delta"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do; declared, since no vendor says so at run time.

    ``provider`` goes into a session's fingerprint; ``max_output_tokens`` (0 = not declared)
    lowers a request's own cap.
    """

    provider: str
    semconv_provider: str
    supports_tool_search: bool = False
    supports_streaming: bool = False
    max_output_tokens: int = 0


def output_cap(wanted: int, capabilities: Capabilities) -> int:
    """Return the output limit to ask for: what the run wants, lowered to what the model gives."""
    declared = capabilities.max_output_tokens
    return min(wanted, declared) if declared > 0 else wanted


class Provider(Protocol):
    """A model that can be asked; one instance serves many runs at once."""

    def capabilities(self) -> Capabilities:
        """Say what this provider can do."""
        ...

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        """Ask once.

        Raises:
            ProviderError: the model did not answer; its ``failure`` says why.
        """
        ...

    async def close(self) -> None:
        """Release connections; the provider is not used afterwards."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One HTTP attempt on its way to a model; never its headers, which hold the key.

    ``iteration`` is the call's index in its session, ``attempt`` counts retries from zero.
    ``body`` is ``None`` where it cannot be read.
    """

    method: str
    url: str
    body: bytes | None
    attempt: int = 0
    iteration: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """What came back; ``error`` says why ``body`` could not be read, when it could not."""

    status: int
    reason: str
    body: bytes | None
    error: str = ""


HttpCall = Callable[[HttpRequest], Awaitable[HttpResponse]]
HttpMiddleware = Callable[[HttpRequest, HttpCall], Awaitable[HttpResponse]]
"""Sees each HTTP attempt; awaits the next one in and returns what it returned, unchanged.

A streamed body is complete when it is shown. The first of a list is the outermost.
"""


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Everything a factory may need.

    ``call_timeout_s`` bounds one call with all its retries. ``directory`` is where relative
    paths in ``options`` start: the folder of ``agent.yaml``. ``middlewares`` see the traffic of a
    provider that speaks HTTP; others ignore them. ``secrets`` are what the process knows beside
    ``api_key`` that no error may hold, should a server say it back.
    """

    api_key: str = field(default="", repr=False)
    base_url: str = ""
    call_timeout_s: float = 120.0
    directory: str = "."
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    middlewares: tuple[HttpMiddleware, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)


ProviderFactory = Callable[[ProviderConfig], Provider]


@dataclass(frozen=True, slots=True)
class _Entry:
    factory: ProviderFactory
    credential_env_names: tuple[str, ...]
    capabilities: Capabilities | None


_registry: dict[str, _Entry] = {}


def register(
    name: str,
    factory: ProviderFactory,
    credential_env_names: tuple[str, ...],
    *,
    capabilities: Capabilities | None = None,
) -> None:
    """Add a provider under ``name``.

    ``credential_env_names`` lists the variables that hold its secrets: they never reach a child
    process, whichever provider is in use. An empty tuple is a declaration, too. ``capabilities``
    are for whoever asks before a provider is built, such as ``fisk-ai info``.

    Raises:
        ValueError: an empty or taken name, or no factory; a mistake of the programmer, found at
            import.
    """
    if not name:
        raise ValueError("a provider needs a name")
    if not callable(factory):
        raise ValueError(f"provider {name!r} has no factory")
    if name in _registry:
        raise ValueError(f"provider {name!r} is registered twice")
    cleaned = (entry.strip() for entry in credential_env_names)
    secrets = tuple(entry for entry in cleaned if entry)
    _registry[name] = _Entry(factory, secrets, capabilities)


def names() -> list[str]:
    """Return the registered names, sorted."""
    return sorted(_registry)


def require_known(name: str) -> None:
    """Refuse a provider name nobody registered.

    Raises:
        ConfigError: ``name`` is unknown; the message lists those that are known.
    """
    if name not in _registry:
        known = " ".join(names())
        raise ConfigError(
            f'unknown llm provider "{name}": known providers are [{known}]', key="llm.provider"
        )


def new(name: str, config: ProviderConfig) -> Provider:
    """Build the provider registered as ``name``.

    Raises:
        ConfigError: an unknown name, or options the provider does not take.
    """
    require_known(name)
    return _registry[name].factory(config)


def capabilities(name: str) -> Capabilities | None:
    """Return what a provider was registered with; ``None`` where that is nothing or nobody."""
    entry = _registry.get(name)
    return entry.capabilities if entry else None


def declares_credentials(name: str) -> bool:
    """Say whether the provider needs a key at all; a scripted one does not."""
    return bool(_registry[name].credential_env_names)


def credential_env_names() -> list[str]:
    """Return the union over all registered providers, sorted and unique."""
    return sorted({entry for item in _registry.values() for entry in item.credential_env_names})
