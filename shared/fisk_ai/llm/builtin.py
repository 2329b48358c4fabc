"""The providers this project brings; importing this module registers them.

Each factory imports its provider only when it is asked for one: the Anthropic SDK takes most of a
second to import, and a scripted run must not pay for it.
"""

from __future__ import annotations

from typing import Final

from fisk_ai.llm.provider import Provider, ProviderConfig, register

ANTHROPIC_CREDENTIALS: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    "ANTHROPIC_CUSTOM_HEADERS",
)
"""Variables that hold a secret of the Anthropic API; those that only select a profile do not."""


def _anthropic(config: ProviderConfig) -> Provider:
    from fisk_ai.llm.anthropic.provider import AnthropicProvider  # noqa: PLC0415 - loads the SDK

    return AnthropicProvider(config)


def _scripted(config: ProviderConfig) -> Provider:
    from fisk_ai.llm.scripted.provider import build  # noqa: PLC0415 - loads YAML and RE2

    return build(config)


register("anthropic", _anthropic, ANTHROPIC_CREDENTIALS)
register("scripted", _scripted, ())
