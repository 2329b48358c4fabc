"""Citation rules: how the path of a document becomes the link a person can follow.

One scanner reads a replacement, for whoever checks it and for whoever fills it in. Its grammar is
that of Go's ``Regexp.Expand``. Rules: ``docs/reference/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.config.harness import Citation

RESERVED: Final = ("ordinal", "heading", "anchor")
"""Names a replacement may use beside its groups; a named group of the same name comes first."""

_NUMBER_LIMIT: Final = 8
"""Digits of a group number; a longer one is a name."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A place to fill in: a group by its number, or a group or reserved word by its name."""

    name: str

    @property
    def number(self) -> int | None:
        """The number of a group, ``None`` for a name; a leading zero makes a name."""
        digits = self.name
        if not (digits.isascii() and digits.isdigit()) or len(digits) > _NUMBER_LIMIT:
            return None
        return None if len(digits) > 1 and digits.startswith("0") else int(digits)


Piece = str | Placeholder


def scan(replacement: str) -> Iterator[Piece]:
    """Yield the literal text and the placeholders of a replacement in order.

    ``$$`` is a dollar; ``$name`` takes the longest run of letters, digits and ``_``, ``${name}``
    what the braces hold; any other ``$`` is literal.
    """
    at = 0
    while (dollar := replacement.find("$", at)) >= 0:
        if dollar > at:
            yield replacement[at:dollar]
        piece, at = _after_dollar(replacement, dollar + 1)
        yield piece
    if at < len(replacement):
        yield replacement[at:]


def expand(replacement: str, value: Callable[[Placeholder], str]) -> str:
    """Return ``replacement`` with ``value`` of each placeholder in its place."""
    return "".join(piece if isinstance(piece, str) else value(piece) for piece in scan(replacement))


def check(rules: Sequence[Citation]) -> None:
    """Refuse a rule that could never be meant.

    Raises:
        ConfigError: an empty pattern or replacement, a pattern that is no RE2 expression, or a
            placeholder that the pattern does not fill.
    """
    for index, rule in enumerate(rules):
        reason = _fault(rule)
        if reason:
            key = f"harness.knowledge.citations[{index}]"
            raise ConfigError(f"invalid {key}: {reason}", key=key)


def _after_dollar(text: str, start: int) -> tuple[Piece, int]:
    if text.startswith("$", start):
        return "$", start + 1
    braced = text.startswith("{", start)
    first = start + 1 if braced else start
    end = first
    while end < len(text) and _in_name(text[end]):
        end += 1
    if end == first or (braced and not text.startswith("}", end)):
        return "$", start
    return Placeholder(text[first:end]), end + 1 if braced else end


def _in_name(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _fault(rule: Citation) -> str:
    if not rule.pattern:
        return "pattern is required, an empty pattern matches every document path"
    if not rule.replace:
        return "replace is required"
    try:
        pattern = _compile(rule.pattern)
    except ValueError as exc:
        return f"pattern {quote(rule.pattern)} does not compile: {exc}"
    faults = (_unfilled(piece, pattern) for piece in scan(rule.replace))
    return next(filter(None, faults), "")


def _unfilled(piece: Piece, pattern: _Pattern) -> str:
    if isinstance(piece, str):
        return ""
    if piece.number is not None:
        beyond = piece.number > pattern.groups
        return f"replace uses ${piece.name}, but the pattern has {_groups(pattern)}" * beyond
    if piece.name in pattern.groupindex or piece.name in RESERVED:
        return ""
    return (
        f"replace uses ${piece.name}, which is neither a named group of the pattern nor"
        f" {', '.join(RESERVED[:-1])} or {RESERVED[-1]}; write ${{1}} where text follows a number"
    )


def _groups(pattern: _Pattern) -> str:
    return f"{pattern.groups} group" + "s" * (pattern.groups != 1)


class _Pattern(Protocol):
    groups: int

    @property
    def groupindex(self) -> dict[str, int]: ...


def _compile(pattern: str) -> _Pattern:
    import re2  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - untyped, and rarely needed

    options = re2.Options()
    options.log_errors = False  # it would print a bad pattern to standard error besides
    try:
        return cast("_Pattern", re2.compile(pattern, options))  # pyright: ignore[reportUnknownMemberType] - untyped
    except cast("type[Exception]", re2.error) as exc:  # pyright: ignore[reportUnknownMemberType] - untyped
        reason = exc.args[0] if exc.args else ""
        raise ValueError(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from exc
