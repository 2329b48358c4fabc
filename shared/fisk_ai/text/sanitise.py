"""Which characters of foreign text may reach a person's screen.

Models, peers, commands and documents write text that nobody has read yet. Here escape sequences,
control characters and direction overrides are taken out before anything is shown. What models,
journals and peers receive is left alone. Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ELIDE_OVER = 19
"""Code points up to which a value is shown whole: the shortest that eliding would shorten."""

QUOTED_LIMIT = 200
"""Code points of foreign text that an error repeats: enough to recognise it, never a document."""

_ELIDE_HEAD = 10
_ELIDE_TAIL = 6

_ESCAPE = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]"  # control sequence
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system command
    r"|\x1b[^\n]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

_DROP_DIRECTIONS: dict[int, str | None] = dict.fromkeys(_DIRECTIONS)
_LINE = dict.fromkeys(_CONTROLS, " ") | _DROP_DIRECTIONS
_DISPLAY = {code: shown for code, shown in _LINE.items() if code not in (0x09, 0x0A)}


def clean_surrogates(s: str) -> str:
    """Replace every lone surrogate by U+FFFD, so that the text can be encoded; a plain ``str``."""
    return s if type(s) is str and s.isascii() else _SURROGATE.sub("\ufffd", s)


def for_display(s: str) -> str:
    """Return text that may be shown in several lines: only newline and tab are left of controls."""
    return clean_surrogates(_ESCAPE.sub("", s).translate(_DISPLAY))


def for_terminal(s: str, limit: int) -> str:
    """Return one line of at most ``limit`` code points, and ``…`` where it was longer.

    White space is collapsed to single blanks and trimmed. Escapes go before the cut, so none is
    cut in two.
    """
    clean = clean_surrogates(_ESCAPE.sub("", s).translate(_LINE))
    line = " ".join(clean.split())
    return line if len(line) <= limit else line[:limit] + "…"


def quoted(s: str) -> str:
    """Return foreign text as an error repeats it: one clean, bounded line in double quotes."""
    return f'"{for_terminal(s, QUOTED_LIMIT)}"'


def truncate(s: str, limit: int) -> str:
    """Return at most ``limit`` code points, and ``...`` where there were more."""
    return s if len(s) <= limit else s[:limit] + "..."


def elide_middle(s: str, show: Callable[[str], str] = str) -> str:
    """Return a short form of a long value: its first ten and last six code points.

    ``show`` is how each part left of it is written.
    """
    if len(s) <= ELIDE_OVER:
        return show(s)
    return f"{show(s[:_ELIDE_HEAD])}...{show(s[-_ELIDE_TAIL:])}"
