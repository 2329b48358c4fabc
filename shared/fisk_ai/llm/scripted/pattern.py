"""The regular expressions of a script; they run in linear time whatever a tool printed."""

from __future__ import annotations

from typing import Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs] - none are published


class Pattern(Protocol):
    """A compiled expression whose running time is linear in the text."""

    def search(self, text: str) -> object | None:
        """Return a match anywhere in ``text``, or nothing."""
        ...


# RE2 brings no type information: what is used of it is named here once.
_RE2 = cast("_Re2", re2)
_EXPRESSION_ERROR = cast("type[Exception]", re2.error)  # pyright: ignore[reportUnknownMemberType] - untyped library


class _Options(Protocol):
    log_errors: bool


class _Re2(Protocol):
    def Options(self) -> _Options: ...  # noqa: N802 - the library's name

    def compile(self, pattern: str, options: _Options) -> Pattern: ...


def compile_pattern(expression: str) -> Pattern:
    """Compile an expression; ValueError says what is wrong with it."""
    options = _RE2.Options()
    options.log_errors = False  # it would write to standard error by itself
    try:
        return _RE2.compile(expression, options)
    except _EXPRESSION_ERROR as exc:
        raise ValueError(f"when is no regular expression: {_error_text(exc)}") from exc


def _error_text(error: Exception) -> str:
    reason: object = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
