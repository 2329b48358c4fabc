"""Secrets without a type of their own: signed tokens, private keys, logins, assignments.

An assignment counts by the name it is made to. Programs assign names and calls, configurations
assign paths and placeholders, and much that is called a key is no secret: those are told apart by
the shape of the value. Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span
from fisk_ai.agent.pii.secret_names import is_public, name_ending_at, promises_secret

_PEM_BEGIN: Final = rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PEM_END: Final = rb"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PEM_HEADERS: Final = rb"(?:[A-Za-z][A-Za-z0-9-]*: [^\"\r\n]*\s+)*"
_BASE64_LINE: Final = rb"[A-Za-z0-9+/=]{16,}"

_PASSWORD: Final = rb"(?i:password|passwd|passphrase|pwd)"
_NAME: Final = rb"\b([A-Za-z0-9_.-]*(?:(?i:key|token|secret)|" + _PASSWORD + rb"))"
_ASSIGNS: Final = rb"[\"']*[ \t]*(?::=|=>|={1,2}|:)[ \t]*"
_QUOTED: Final = rb"[\"'`]+([^\s\"'`]{16,})"
_UNQUOTED: Final = rb"([^\s\"'`,;<>(){}\[\]|&]{16,})"
_ASSIGNMENT: Final = _NAME + _ASSIGNS + rb"(?:" + _QUOTED + rb"|" + _UNQUOTED + rb")"

_PHRASE: Final = (
    rb"\b[A-Za-z0-9_.-]*(?:(?i:secret)|"
    + _PASSWORD
    + rb")"
    + _ASSIGNS
    + rb"(?:\"+([^\"\r\n]{16,200})\"|'([^'\"\r\n]{16,200})')"
)
"""A quoted password of several words."""

_SENTENCE: Final = re.compile(
    rb"(?i)\b(?:a|an|and|are|as|at|be|by|can|for|from|has|have|if|in|is|it|least|must|no|not|of|on|or|"
    rb"should|that|the|this|to|use|used|was|when|will|with|you|your)\b"
)
"""Words of a text about passwords: help, descriptions, messages."""

_PUBLIC: Final = re.compile(rb"(?i)public|pub[_.-]?key")
_PLACEHOLDER: Final = re.compile(rb"(?i)your|change[_-]?me|placeholder|redacted|x{4}|\.{3}|\*{4}")
_REFERENCE: Final = (b"$", b"{", b"<", b"%", b"[")
"""How a value begins that is filled in elsewhere."""

_PATH: Final = (b"/", b"./", b"../", b"~/")
_OPENINGS: Final = (b"(", b"[", b"{", b"<")
_ENDS_OF_ARGUMENTS: Final = (b")", b",", b";")
_RECEIVER: Final = re.compile(rb"(?:self|cls|this)\.[A-Za-z0-9_.]+")
"""A member of the object a program speaks of."""

_FORMAT: Final = re.compile(rb"%[-+ #0]*[0-9]*(?:\.[0-9]*)?[cdefgisuxX]")
"""Where a number or a word is printed into a text."""

_WORKING_DIRECTORY: Final = re.compile(rb"(?i)(?:old)?pwd")
_RESOURCE: Final = re.compile(rb"[a-z]+(?:[.-](?:[a-z]+|[0-9]{1,4}))+")
_QUALIFIED: Final = re.compile(rb"[a-z]+(?:[.-][a-z]+)*\.(?:com|dev|io|net|org)/[a-z0-9.-]+")
"""A name under a domain, such as ``kubernetes.io/service-account-token``."""

_OF_A_RESOURCE: Final = re.compile(rb"(?i)secret|token")
_SAYS_SECRET: Final = re.compile(rb"secret|token|passw|key")
_IDENTIFIERS: Final = re.compile(rb"[A-Za-z0-9_.]+")
_MEMBER_PART: Final = rb"[A-Za-z_]+(?:[0-9]{1,3}[A-Za-z_]*)?"
_MEMBER: Final = re.compile(_MEMBER_PART + rb"(?:\." + _MEMBER_PART + rb")+")
"""A member of a module or an object, such as ``win32typing.PyHKEY``."""

_SEPARATOR: Final = re.compile(rb"[/._:+-]+")
_WORD: Final = re.compile(rb"[A-Za-z]*[0-9]{0,8}")
"""Letters, then a number: a name, a version, a year. In anything drawn by lot a letter follows a
digit sooner or later."""

_KNOWN_SHAPE: Final = re.compile(
    rb"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}"
    rb"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    rb"|(?:(?i:sha|md)[0-9]{1,3})[:-].*"
    rb"|[AUONCX][A-Z2-7]{55}"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)\Z"
)
"""Digests, UUIDs, public nkeys and dates."""


def _assigned(match: Match) -> Span | None:
    name, quoted = match.group(1) or b"", match.group(2)
    value = (match.group(3) or b"") if quoted is None else quoted
    full_name = name_ending_at(match.string, match.span(1)[1])
    if not _has_digit(value) or is_public(full_name, value):
        return None
    if _is_filled_in(value) or _is_named(name, value):
        return None
    if quoted is None and _is_code(value, match):
        return None
    if not promises_secret(name) and _is_table_key(name, value):
        return None
    return match.span(3 if quoted is None else 2)


def _phrase(match: Match) -> Span | None:
    """Accept several words that are no sentence."""
    group = 1 if match.group(1) is not None else 2
    value = match.group(group) or b""
    if b" " not in value or not _has_digit(value) or _is_filled_in(value):
        return None
    return None if _SENTENCE.search(value) else match.span(group)


def _login(match: Match) -> Span | None:
    """Accept what reads ``user:password``: prose has the word, too."""
    value = match.group(1) or b""
    try:
        login = b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except ValueError:
        return None
    is_login = b":" in login and login.isascii() and login.decode().isprintable()
    return match.span(1) if is_login else None


def _has_digit(value: bytes) -> bool:
    return any(byte in b"0123456789" for byte in value)


def _is_named(name: bytes, value: bytes) -> bool:
    """Say whether the value is the name of a directory, or of what the secret is kept in."""
    if _WORKING_DIRECTORY.fullmatch(name):
        return value.startswith(b"/")
    if not _OF_A_RESOURCE.fullmatch(name):
        return False
    if _QUALIFIED.fullmatch(value) and _is_wordy(value):
        return True
    return not _SAYS_SECRET.search(value) and bool(_RESOURCE.fullmatch(value))


def _is_filled_in(value: bytes) -> bool:
    """Say whether the value is a reference, a placeholder, an address or a path."""
    if value.startswith(_REFERENCE) or _PLACEHOLDER.search(value) or b"://" in value:
        return True
    return value.startswith(_PATH) and _is_wordy(value)


def _is_code(value: bytes, match: Match) -> bool:
    """Say whether the unquoted value is a call, an index, a member, or a name in a program."""
    end = match.span()[1]
    behind = match.string[end : end + 1]
    if behind in _OPENINGS or _MEMBER.fullmatch(value) or _RECEIVER.fullmatch(value):
        return True
    is_name = _IDENTIFIERS.fullmatch(value) is not None and _SEPARATOR.search(value) is not None
    if not is_name or not _is_wordy(value):
        return False
    # A name of several words may be a secret in a settings file, which has it at the end of a line
    # and no blank before the sign.
    operator_start = match.span(1)[1]
    return behind in _ENDS_OF_ARGUMENTS or match.string[operator_start : operator_start + 1] == b" "


def _is_table_key(name: bytes, value: bytes) -> bool:
    known = _PUBLIC.search(name) or _KNOWN_SHAPE.match(value) or _FORMAT.search(value)
    return bool(known) or _is_wordy(value)


def _is_wordy(value: bytes) -> bool:
    return all(_WORD.fullmatch(piece) for piece in _SEPARATOR.split(value))


SECRETS: Final = (
    Rule("SECRET", rb"(?s)" + _PEM_BEGIN + rb".*?" + _PEM_END),
    # A block whose end was cut off: the lines that are there.
    Rule(
        "SECRET",
        _PEM_BEGIN + rb"\s*" + _PEM_HEADERS + _BASE64_LINE + rb"(?:\s+" + _BASE64_LINE + rb")*",
    ),
    Rule("SECRET", rb"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+"),
    Rule("SECRET", rb"\bA[KS]IA[A-Z0-9]{16}\b"),
    Rule("SECRET", rb"\b(?i:basic)[ \t]+([A-Za-z0-9+/]{8,}={0,2})", _login),
    Rule("SECRET", _PHRASE, _phrase),
    Rule("SECRET", _ASSIGNMENT, _assigned),
)
