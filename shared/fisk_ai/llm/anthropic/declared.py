"""What is known of the Anthropic provider without its SDK: its abilities and its secrets."""

from __future__ import annotations

from typing import Final

from fisk_ai.llm.provider import Capabilities

CAPABILITIES: Final = Capabilities(
    provider="anthropic",
    semconv_provider="anthropic",
    supports_tool_search=True,
    supports_streaming=True,
)

CREDENTIALS: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    "ANTHROPIC_CUSTOM_HEADERS",
)
"""Variables that hold a secret of the Anthropic API; those that only select a profile do not."""
