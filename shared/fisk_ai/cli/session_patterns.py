"""The regular expressions of filters; they run in linear time whatever a journal holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from fisk_ai.errors import UsageError

Match = Callable[[str], bool]
"""Whether an expression is found anywhere in a text."""


def match_of(expression: str | None, flag: str) -> Match | None:
    """Compile the expression that ``flag`` was given; ``None`` when it was not typed.

    Raises:
        UsageError: it does not compile.
    """
    if expression is None:
        return None
    import re2  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - untyped, and rarely needed

    options = re2.Options()
    options.log_errors = False  # it would write to standard error by itself
    try:
        pattern = cast("_Pattern", re2.compile(expression, options))  # pyright: ignore[reportUnknownMemberType] - untyped
    except cast("type[Exception]", re2.error) as exc:  # pyright: ignore[reportUnknownMemberType] - untyped
        reason: object = exc.args[0] if exc.args else ""
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise UsageError(f"{flag} is no regular expression: {said}", key=flag) from exc
    return lambda text: pattern.search(text) is not None


class _Pattern(Protocol):
    def search(self, text: str) -> object: ...
