"""One detector: a pattern, what else must hold of a match, and how its matches are replaced.

Patterns run in RE2, which reads a text once whatever the text is: a page of dashes costs as much as
a page of prose. They see bytes and ASCII classes alone, so no letter of another alphabet counts as
part of a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

Span = tuple[int, int]
"""Where something stands in a text, in bytes."""


class Match(Protocol):
    """What a check is shown; groups are numbered from one, an absent one stands at -1."""

    @property
    def string(self) -> bytes:
        """Return the whole text."""
        ...

    def span(self, group: int = 0) -> Span:
        """Return where a group stands."""
        ...

    def group(self, group: int = 0) -> bytes | None:
        """Return what a group holds."""
        ...


class Pattern(Protocol):
    """A compiled pattern."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Yield matches from left to right, none overlapping another."""
        ...

    def search(self, text: bytes) -> Match | None:
        """Return the first match."""
        ...


Check = Callable[[Match], Span | None]
"""Returns what to replace, or ``None`` when the match is nothing after all."""


def whole(match: Match) -> Span:
    """Replace all of the match."""
    return match.span()


def first_group(match: Match) -> Span:
    """Replace the first group and keep what is around it."""
    return match.span(1)


def belongs_to_more(match: Match) -> bool:
    """Say whether the match is a part of a longer identifier or of a fraction."""
    start, end = match.span()
    before, after = match.string[max(0, start - 2) : start], match.string[end : end + 2]
    return _joins(before[::-1]) or _joins(after)


def _joins(outwards: bytes) -> bool:
    joint, beyond = outwards[:1], outwards[1:]
    return (joint == b"-" and beyond.isalnum()) or (joint == b"." and beyond.isdigit())


@dataclass(frozen=True, slots=True)
class Rule:
    """Finds values of one type; ``lead`` is written in front of what stands for a value.

    ``check_of`` makes a check for one text, for what depends on more than the match.
    """

    type: str
    pattern: bytes
    check: Check = whole
    lead: bytes = b""
    check_of: Callable[[bytes], Check] | None = None

    @property
    def placeholder(self) -> bytes:
        """Return what stands in the place of a value."""
        return self.lead + f"[{self.type}-REDACTED]".encode()


@dataclass(frozen=True, slots=True)
class Detector:
    """A rule that is ready to run."""

    rule: Rule
    pattern: Pattern

    def spans(self, text: bytes) -> list[Span]:
        """Return what to replace, in order, none overlapping another."""
        found: list[Span] = []
        end = 0
        rule = self.rule
        check = rule.check if rule.check_of is None else rule.check_of(text)
        for match in self.pattern.finditer(text):
            span = check(match)
            if span is not None and span[0] >= end:
                found.append(span)
                end = span[1]
        return found


def compiled(rule: Rule) -> Detector:
    """Make a rule ready to run."""
    return Detector(rule, _pattern(rule.pattern))


def one_of(rules: Iterable[Rule]) -> Pattern:
    """Return a pattern that matches where one of ``rules`` may: a single reading of the text."""
    return _pattern(b"|".join(b"(?:" + rule.pattern + b")" for rule in rules))


def _pattern(expression: bytes) -> Pattern:
    import re2  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - it ships no types

    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - untyped
    return cast("Pattern", re2.compile(expression, options))  # pyright: ignore[reportUnknownMemberType] - untyped
