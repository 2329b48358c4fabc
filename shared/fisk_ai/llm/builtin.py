"""The providers this project brings; importing this module registers them.

Each factory imports its provider only when it is asked for one: the Anthropic SDK takes most of a
second to import, and a scripted run must not pay for it.
"""

from __future__ import annotations

from fisk_ai.llm.anthropic import declared as anthropic
from fisk_ai.llm.provider import Provider, ProviderConfig, register
from fisk_ai.llm.scripted import declared as scripted


def _anthropic(config: ProviderConfig) -> Provider:
    from fisk_ai.llm.anthropic.provider import AnthropicProvider  # noqa: PLC0415 - loads the SDK

    return AnthropicProvider(config)


def _scripted(config: ProviderConfig) -> Provider:
    from fisk_ai.llm.scripted.provider import build  # noqa: PLC0415 - loads YAML and RE2

    return build(config)


register("anthropic", _anthropic, anthropic.CREDENTIALS, capabilities=anthropic.CAPABILITIES)
register("scripted", _scripted, (), capabilities=scripted.CAPABILITIES)
