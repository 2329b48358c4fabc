"""Where a person is reached: e-mail addresses, and telephone numbers as they are written abroad."""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span

_LOCAL: Final = rb"(?:[A-Za-z0-9._%+-]|[\xc3-\xc9][\x80-\xbf])+"  # with the letters of Europe
_EMAIL: Final = rb"(" + _LOCAL + rb")@((?:[A-Za-z0-9-]+\.)+)([A-Za-z]{2,24})\b"

_NOT_LOCAL: Final = (b"git", b"hg", b"svn", b"this", b"super")
"""Users of repositories, and receivers in source code."""

_UNITS: Final = (b"service", b"socket", b"timer", b"target", b"slice", b"mount", b"scope")
"""Kinds of system units: ``getty@tty1.service`` is no address."""

_VERSION: Final = re.compile(rb"v?\d+\.\d")
"""A package at its version; ``163.com`` is a domain."""

_SCALE: Final = re.compile(rb"\dx\.")
_PICTURES: Final = (b"png", b"jpg", b"jpeg", b"gif", b"webp", b"svg")
"""``icon@2x.png`` is a picture at its scale."""


def _address(match: Match) -> Span | None:
    local, domain, top = (match.group(number) or b"" for number in (1, 2, 3))
    if local in _NOT_LOCAL or top in _UNITS or _VERSION.match(domain):
        return None
    start = match.span()[0]
    if match.string[max(0, start - 1) : start] == b"$":  # ``$USER@example.com``
        return None
    return None if top in _PICTURES and _SCALE.fullmatch(domain) else match.span()


_PHONE: Final = rb"\+[1-9][0-9]{0,2}(?:[ .()/-]{0,3}[0-9]){5,12}\b"
_BEFORE_PHONE: Final = frozenset(b" \t\r\n\"'`(:,;=<>[|{")
_PHONE_DIGITS: Final = range(8, 16)
_BARE_PHONE_DIGITS: Final = 10
"""Without separators a shorter one may be any number with its sign."""


def _phone(match: Match) -> Span | None:
    start, end = match.span()
    if start and match.string[start - 1] not in _BEFORE_PHONE:
        return None
    body = match.string[start + 1 : end]
    groups = [group for group in re.split(rb"[ .()/-]+", body) if group]
    digits = sum(map(len, groups))
    if digits not in _PHONE_DIGITS:
        return None
    if len(groups) == 1:
        return (start, end) if digits >= _BARE_PHONE_DIGITS else None
    is_decimal = len(groups) == 2 and b"." in body
    return None if is_decimal or digits < 2 * len(groups) else (start, end)


ADDRESSES: Final = (
    Rule("EMAIL", _EMAIL, _address),
    Rule("PHONE", _PHONE, _phone),
)
