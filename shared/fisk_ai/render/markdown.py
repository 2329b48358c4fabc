"""Markdown as styled terminal text; Rich is imported only when something is styled."""

from __future__ import annotations

import os
import re
from typing import TextIO

from fisk_ai.text.sanitise import for_display

STYLED_LIMIT = 262_144
"""Code points above which a text is shown raw: styling is for reading, not for dumps."""

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def styled(text: str, *, width: int) -> str:
    """Return ``text`` rendered with terminal codes, without surrounding blank lines.

    Text that cannot be rendered comes back as it was. Links stay text: a terminal's hyperlink
    would hide where it leads.
    """
    if len(text) > STYLED_LIMIT:
        return text
    try:
        return _render(text, width)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return text


def _render(text: str, width: int) -> str:
    from rich.console import Console  # noqa: PLC0415 - 60 ms that a pipe never needs
    from rich.markdown import Markdown  # noqa: PLC0415 - as above

    console = Console(width=max(20, width), force_terminal=True, highlight=False)
    with console.capture() as capture:
        console.print(Markdown(text, hyperlinks=False))
    lines = (line.rstrip() for line in _clean(capture.get()).splitlines())
    return "\n".join(lines).strip("\n")


def _clean(rendered: str) -> str:
    """Take out what a character reference smuggled past the reading; only styles are left."""
    parts = _STYLE.split(rendered)  # text and styles in turn
    parts[::2] = map(for_display, parts[::2])
    return "".join(parts)


def wants_style(stream: TextIO, *, no_color: bool) -> bool:
    """Say whether ``stream`` is a terminal that can show colours, and whose reader wants them."""
    return not no_color and stream.isatty() and os.environ.get("TERM") != "dumb"
