"""How one written value is checked: words, numbers and durations, and the shape of a refusal.

A refusal reads ``invalid KEY "VALUE": REASON`` and repeats the value as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fisk_ai.config.duration import parse_duration
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

SERVED_TOOLS_LIMIT: Final = 1024
"""Tool calls served at once: each may be a child process."""

NOT_NEGATIVE: Final = "must not be negative"
POSITIVE: Final = "must be greater than zero"


def invalid(key: str, value: str, reason: str) -> ConfigError:
    """Return the refusal of one value."""
    return ConfigError(f"invalid {key} {quote(value)}: {reason}", key=key)


def word(text: str, default: str = "") -> str:
    """Return a word as everything compares it: without blanks around it, in lower case."""
    return text.strip().lower() or default


def unique(words: Iterable[str]) -> list[str]:
    """Trim, drop the empty, keep the first of each: a stray blank must not ungate a command."""
    return list(dict.fromkeys(filter(None, (entry.strip() for entry in words))))


def check_choice(key: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is none of ``choices``; an empty one means the default.

    Raises:
        ConfigError: lists the words there are.
    """
    if word(value) not in ("", *choices):
        *others, last = choices
        raise invalid(key, value, f"must be {', '.join(others)} or {last}")


def check_not_negative(key: str, value: int) -> None:
    """Refuse a number below zero.

    Raises:
        ConfigError: it is one.
    """
    if value < 0:
        raise ConfigError(f"invalid {key} {value}: {NOT_NEGATIVE}", key=key)


def check_served_tools(key: str, value: int) -> None:
    """Refuse a bound of tool calls that is negative or beyond what a host could mean.

    Raises:
        ConfigError: it is one.
    """
    check_not_negative(key, value)
    if value > SERVED_TOOLS_LIMIT:
        reason = f"must not exceed {SERVED_TOOLS_LIMIT}"
        raise ConfigError(f"invalid {key} {value}: {reason}", key=key)


def check_duration(key: str, text: str, *, zero: bool = False) -> None:
    """Refuse what is no duration; zero is for those keys that give it a meaning.

    Raises:
        ConfigError: it is none, or zero or negative where it must not be.
    """
    if not text:
        return
    try:
        length_s = parse_duration(text)
    except ConfigError as exc:
        raise invalid(key, text, str(exc)) from exc
    if length_s < 0 or (length_s == 0 and not zero):
        raise invalid(key, text, NOT_NEGATIVE if zero else POSITIVE)
