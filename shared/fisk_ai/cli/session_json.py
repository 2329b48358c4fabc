"""JSON for other programs, safe to look at on a terminal.

What a journal holds is passed on whole; whatever a terminal could act on is spelled as an escape.
"""

from __future__ import annotations

import re

from fisk_ai.text import gojson

_UNSEEN = re.compile(r"[^\x20-\x7e]")


def machine_text(value: object) -> str:
    """Return plain data as one line of ASCII; embedded JSON keeps its key order and numbers."""
    return _UNSEEN.sub(lambda found: _escaped(found[0]), gojson.dumps(value).decode())


def present(**members: object) -> dict[str, object]:
    """Return the members that hold something: what was never recorded is left out."""
    return {
        key: value
        for key, value in members.items()
        if value is not None and value is not False and value != ""
    }


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
