"""Credentials that carry their own mark: a prefix or an envelope, never mere randomness.

The order counts: each rule sees what those before it left, so the first that fits names a value.
"""

from __future__ import annotations

from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span
from fisk_ai.agent.pii.secret_names import is_public, name_ending_at

_DASHES: Final = rb"-{3,}"


def _block(words: bytes) -> bytes:
    """Return the pattern of a block between two markers, both of them included."""
    begin = _DASHES + rb"\s*BEGIN " + words + rb"\s*" + _DASHES
    end = _DASHES + rb"\s*END " + words + rb"\s*" + _DASHES
    return rb"(?s)" + begin + rb".*?" + end


def _behind_the_word(match: Match) -> Span | None:
    """Accept a value with a digit, since prose has long words, too; a cursor is none."""
    value = match.group(2) or b""
    if not any(byte in b"0123456789" for byte in value):
        return None
    name = name_ending_at(match.string, match.span(1)[1])
    return None if is_public(name, value) else match.span(2)


def _of_its_length(match: Match) -> Span | None:
    """Accept a key of a fixed length, the group, only where no longer word begins like it."""
    start, end = match.span()
    after = match.string[end : end + 1]
    is_longer = match.group(1) is not None and (after.isalnum() or after in (b"_", b"-"))
    return None if is_longer else (start, end)


CREDENTIALS: Final = (
    Rule("NATS_CREDENTIALS", _block(rb"NATS USER JWT")),
    Rule("NATS_SEED", _block(rb"(?:[A-Z]+ )*NKEY SEED")),
    Rule("NATS_SEED", rb"\bS[AUONC][A-Z2-7]{56}\b"),
    Rule("API_KEY", rb"\bsk-or-v1-[A-Za-z0-9]{32,}\b"),
    Rule("API_KEY", rb"\bsk-ant-[A-Za-z0-9_-]{24,}"),
    Rule("API_KEY", rb"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{24,}"),
    Rule("API_KEY", rb"\bsk-[A-Za-z0-9]{32,}\b"),
    Rule("API_KEY", rb"\bxox[baprs]-[A-Za-z0-9-]{10,}"),
    Rule("API_KEY", rb"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    Rule("API_KEY", rb"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    # One rule, since every rule reads all of the text.
    Rule(
        "API_KEY",
        rb"\b(?:glpat-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?|[rs]k_live_[A-Za-z0-9]{24,}"
        rb"|(hf_[A-Za-z0-9]{34}|npm_[A-Za-z0-9]{36}|AIza[A-Za-z0-9_-]{35}))",
        _of_its_length,
    ),
    Rule(
        "BEARER_TOKEN",
        rb"\b((?i:bearer|token))(\s* \s*[A-Za-z0-9._~+/=-]{24,})",
        _behind_the_word,
        lead=b" ",
    ),
)
