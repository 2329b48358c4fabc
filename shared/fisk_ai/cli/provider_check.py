"""Whether a run could use the configured model at all: its provider's name and its options.

For commands that contact no model, so that they do not stay silent about what a run would refuse.
No key is needed.
"""

from __future__ import annotations

from fisk_ai.config import Config
from fisk_ai.errors import FiskError
from fisk_ai.llm import builtin as _builtin
from fisk_ai.llm import provider as providers
from fisk_ai.text.sanitise import for_terminal

PROVIDERS = _builtin
"""Imported so that the providers are registered."""

REASON_LIMIT = 600
"""Code points of a refusal, which names a file and quotes the configuration."""

_ANY_KEY = "none"
"""Stands for the key, which is not what is checked."""


def refusal(config: Config) -> str:
    """Return why a run of ``config`` would be refused for its model; empty when it would not."""
    try:
        with config.placing():
            require(config)
    except FiskError as exc:
        return for_terminal(str(exc), REASON_LIMIT)
    return ""


def require(config: Config) -> None:
    """Refuse a model that a run of ``config`` could not use.

    A provider that takes a key and was given no options has nothing to check, and is not built:
    that would load the vendor's library.

    Raises:
        FiskError: its provider is unknown, or does not take its options.
    """
    name = config.llm.provider
    providers.require_known(name)
    if config.llm.options or not providers.declares_credentials(name):
        providers.new(name, _settings(config))


def _settings(config: Config) -> providers.ProviderConfig:
    return providers.ProviderConfig(
        api_key=_ANY_KEY, directory=str(config.directory), options=config.llm.options
    )
