"""Markdown as styled terminal text; Rich is imported only when something is styled."""

from __future__ import annotations

import os
import re
from typing import TextIO

from fisk_ai.text.sanitise import for_display

STYLED_LIMIT = 32_768
"""Code points above which a text is shown raw: styling is for reading, not for dumps. Of what is
smaller, :mod:`fisk_ai.render.effort` bounds the work; nothing can interrupt it."""

_LEAST_COLUMNS = 20
_HEIGHT = 25
"""Of no effect but that Rich, told both, asks no environment for a size."""

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def styled(text: str, *, width: int) -> str:
    """Return ``text`` rendered with terminal codes, without surrounding blank lines.

    Every word of the text is in it: one that cannot be rendered so comes back as it was. Links
    stay text: a terminal's hyperlink would hide where it leads.
    """
    if len(text) > STYLED_LIMIT:
        return text
    try:
        return _render(text, width)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return text


def _render(text: str, width: int) -> str:
    from rich.console import Console  # noqa: PLC0415 - 60 ms that a pipe never needs

    from fisk_ai.render.literal import LiteralMarkdown  # noqa: PLC0415 - as above

    columns = max(_LEAST_COLUMNS, width)
    console = Console(width=columns, height=_HEIGHT, force_terminal=True, highlight=False)
    markdown = LiteralMarkdown(text)
    with console.capture() as capture:
        console.print(markdown)
    shown = _clean(capture.get())
    if not markdown.is_whole(_STYLE.sub("", shown)):
        return text
    return "\n".join(line.rstrip() for line in shown.splitlines()).strip("\n")


def _clean(rendered: str) -> str:
    """Take out what a character reference smuggled past the reading; only styles are left."""
    parts = _STYLE.split(rendered)  # text and styles in turn
    parts[::2] = map(for_display, parts[::2])
    return "".join(parts)


def wants_style(stream: TextIO, *, no_color: bool) -> bool:
    """Say whether ``stream`` is a terminal that can show colours, and whose reader wants them."""
    return not no_color and stream.isatty() and os.environ.get("TERM") != "dumb"
