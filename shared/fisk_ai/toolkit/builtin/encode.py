"""``base64_encode``: a text as base64, which models do badly themselves."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fisk_ai import options as tool_options
from fisk_ai.text import gojson, sanitise, words
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.builtin.factory import OPTIONS_KEY, builtin_tool
from fisk_ai.toolkit.functool import (
    Confirm,
    Exposure,
    FunctionContext,
    FunctionSpec,
    FunctionTool,
)
from fisk_ai.toolkit.inputs import decode

NAME = "base64_encode"


TEXT_LIMIT = 400
"""Code points of the text in a trace or a question, which have a few more."""


class _Options(msgspec.Struct):
    pass


class _Input(msgspec.Struct, kw_only=True):
    text: str


def build(
    options: Mapping[str, object], *, gated: bool, base: Path | None, key: str = OPTIONS_KEY
) -> FunctionTool:
    """Build the tool, which takes no options.

    Raises:
        ConfigError: it was given some.
    """
    tool_options.decode(NAME, options, _Options, key=key)
    return builtin_tool(
        FunctionSpec(
            name=NAME,
            description="Encode a text, as UTF-8, in standard base64.",
            schema={
                "type": "object",
                "properties": {"text": {"type": "string", "description": "The text to encode"}},
                "required": ["text"],
            },
            handler=_encode,
            confirm=Confirm() if gated else None,
            validate_required=True,
            trace=_line,
            behavior=Behavior(read_only=True, idempotent=True, open_world=False),
        ),
        expose=Exposure(mcp=True),
    )


def _line(raw: bytes) -> str:
    return f"{NAME} {words.elided(decode(NAME, raw, _Input).text, TEXT_LIMIT)}"


async def _encode(raw: bytes, context: FunctionContext) -> str:
    text = sanitise.clean_surrogates(decode(NAME, raw, _Input).text)
    return gojson.dumps({"encoded": base64.b64encode(text.encode()).decode()}).decode()
