"""What is known of the scripted provider without reading a script."""

from __future__ import annotations

from typing import Final

from fisk_ai.llm.provider import Capabilities

CAPABILITIES: Final = Capabilities(
    provider="scripted", semconv_provider="scripted", supports_streaming=True
)
"""It searches no tools: a script calls them by name."""
