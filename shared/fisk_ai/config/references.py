"""Values that are kept elsewhere: ``${VAR}`` and ``${file:PATH}``, and what of them may be shown.

The syntax is checked when a file is read. What a reference stands for is looked up when it is
needed, through functions that are passed in, so that a file can be described on a host that holds
no secrets. Rules: ``docs/reference/configuration.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

RULE: Final = (
    "a reference is written ${VAR}, where VAR is a letter or '_' followed by letters, digits and"
    " '_', or ${file:PATH}"
)
HIDDEN: Final = "REDACTED"

SECRET_LENGTH: Final = 8
"""Characters from which a value is taken out of messages; shorter ones are parts of other words."""

_OPENING: Final = "${"
_FILE: Final = "file:"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE: Final = re.compile(r"\$\{(?:file:[^}]+|[A-Za-z_][A-Za-z0-9_]*)\}")
_QUERY_BREAK: Final = re.compile(r"[&;]")


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference: a variable by its name, or a file by its path."""

    kind: Literal["variable", "file"]
    name: str


Part = str | Reference


def parse(text: str) -> tuple[Part, ...]:
    """Return literal text and references in order; a ``$`` without a brace is literal.

    Raises:
        ConfigError: a reference that is not closed, names nothing, or no variable. The message
            begins with what is wrong; the caller adds the key.
    """
    return tuple(_parts(text))


def check(text: str) -> None:
    """Refuse a text whose references cannot be read; raises as :func:`parse`."""
    parse(text)


def has_reference(text: str) -> bool:
    """Say whether a text that :func:`check` accepts depends on anything elsewhere."""
    return _OPENING in text


def resolve(
    text: str, *, variable: Callable[[str], str | None], read_file: Callable[[str], str]
) -> str:
    """Return ``text`` with the value of every reference in its place.

    ``variable`` returns ``None`` for one that is not set; ``read_file`` gets the path as written.

    Raises:
        ConfigError: as :func:`parse`, or a variable that is not set; what ``read_file`` raises.
    """
    return "".join(
        part if isinstance(part, str) else _value(part, variable, read_file) for part in parse(text)
    )


def values(
    text: str, *, variable: Callable[[str], str | None], read_file: Callable[[str], str]
) -> tuple[str, ...]:
    """Return what each reference of ``text`` stands for; raises as :func:`resolve`."""
    references = (part for part in parse(text) if isinstance(part, Reference))
    return tuple(_value(reference, variable, read_file) for reference in references)


def without_values(message: str, secrets: tuple[str, ...]) -> str:
    """Return ``message`` without any of ``secrets`` that is long enough to be one."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SECRET_LENGTH:
            message = message.replace(secret, HIDDEN)
    return message


def redact_url(text: str) -> str:
    """Return what may be shown of an address, or of any text that may hold one.

    Hidden are the user information, the value of each query parameter, a query segment without a
    name, and the fragment. Empty values stay empty and a value that is one reference stays as it
    is written. Scheme, host, port and path are kept: a path is never taken for a secret.
    """
    mask = _REFERENCE.sub(lambda found: "x" * len(found[0]), text)
    hash_at = _find(mask, "#", 0)
    query_at = min(_find(mask, "?", 0), hash_at)
    shown = _without_user(text[:query_at], mask[:query_at])
    if query_at < hash_at:
        shown += "?" + _without_values(text[query_at + 1 : hash_at], mask[query_at + 1 : hash_at])
    if hash_at < len(text):
        shown += "#" + _hidden(text[hash_at + 1 :])
    return shown


def refused_url(text: str) -> str:
    """Return what may be shown of an address that was refused.

    It may be no address at all. An ``@`` that :func:`redact_url` takes for part of something else
    may then end a password, so nothing is shown of a text that has one.
    """
    mask = _REFERENCE.sub(lambda found: "x" * len(found[0]), text)
    last, scheme = mask.rfind("@"), mask.find("://")
    host_ends = min(_find(mask, sign, scheme + len("://")) for sign in "/?#")
    if last >= 0 and (scheme < 0 or last > host_ends):
        return HIDDEN
    return redact_url(text)


def _parts(text: str) -> Iterator[Part]:
    at = 0
    while (opened := text.find(_OPENING, at)) >= 0:
        if opened > at:
            yield text[at:opened]
        closed = text.find("}", opened)
        if closed < 0:
            raise ConfigError(f"a ${{ is not closed: {RULE}")
        yield _reference(text[opened + len(_OPENING) : closed])
        at = closed + 1
    if at < len(text):
        yield text[at:]


def _reference(inside: str) -> Reference:
    if inside.startswith(_FILE) and len(inside) > len(_FILE):
        return Reference("file", inside.removeprefix(_FILE))
    if inside in ("", _FILE):
        raise ConfigError(f"${{{inside}}} names nothing: {RULE}")
    if not _NAME.fullmatch(inside):
        raise ConfigError(f"{quote(inside)} is no name of a variable: {RULE}")
    return Reference("variable", inside)


def _value(
    reference: Reference, variable: Callable[[str], str | None], read_file: Callable[[str], str]
) -> str:
    if reference.kind == "file":
        return read_file(reference.name)
    value = variable(reference.name)
    if value is None:
        name = reference.name
        raise ConfigError(f"environment variable {quote(name)} is not set", key=name)
    return value


def _find(mask: str, sign: str, start: int) -> int:
    found = mask.find(sign, start)
    return found if found >= 0 else len(mask)


def _without_user(text: str, mask: str) -> str:
    scheme = mask.find("://")
    if scheme < 0:
        return text
    start = scheme + len("://")
    at = mask.rfind("@", start, _authority_end(mask, start))
    return text if at < 0 else text[:start] + _hidden(text[start:at]) + text[at:]


def _authority_end(mask: str, start: int) -> int:
    """Return where the host ends; an ``@`` behind what is no port belongs to a password."""
    end = _find(mask, "/", start)
    _, colon, port = mask[start:end].rpartition("@")[2].rpartition(":")
    if colon and not port.rstrip("]").isdigit() and "]" not in port:
        return len(mask)
    return end


def _without_values(query: str, mask: str) -> str:
    shown, at = "", 0
    for found in (*_QUERY_BREAK.finditer(mask), None):
        end = found.start() if found else len(mask)
        shown += _segment(query[at:end], mask[at:end]) + (found[0] if found else "")
        at = end + 1
    return shown


def _segment(segment: str, mask: str) -> str:
    equals = mask.find("=")
    if equals < 0:
        return _hidden(segment)
    return segment[: equals + 1] + _hidden(segment[equals + 1 :])


def _hidden(value: str) -> str:
    return value if not value or _REFERENCE.fullmatch(value) else HIDDEN
