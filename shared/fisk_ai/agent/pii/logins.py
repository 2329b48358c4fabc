"""Passwords in the address of a service, as in ``postgres://app:secret@db``."""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span

_LOGIN: Final = (
    rb"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@\"'`<>\[\](){}|,;]*:([^\s/?#\"'`]+)@[A-Za-z0-9\[_$<{%-]"
)
_FILLED_IN: Final = re.compile(
    rb"[$<{\[]|%(?:[({]|[sdv]\Z)|[*x.]+\Z|(?i:password|passwd|pass|pwd|secret)\Z"
)
"""What stands for a password in instructions."""


def _password(match: Match) -> Span | None:
    return None if _FILLED_IN.match(match.group(1) or b"") else match.span(1)


LOGINS: Final = (Rule("SECRET", _LOGIN, _password),)
