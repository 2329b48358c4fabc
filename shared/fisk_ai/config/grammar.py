"""Why a text is no YAML, told to whoever wrote it: the place, and what to do there.

A parser speaks of tokens, indicators and contexts. What it stumbled over is told apart by its own
words and by the line they point at; most of it is a tab, a stray blank or a colon in plain text.
"""

from __future__ import annotations

from typing import Final

import yaml

Place = tuple[int, int]
"""Line and column, both from one."""

_TAB: Final = "a tab stands in the indentation: use spaces"
_COLON_IN_TEXT: Final = "a colon followed by a blank ends a key: put the text in quotes"
_DEEPER: Final = (
    "the line is indented deeper than the key above: line it up with that key, or put a text of"
    " several lines in quotes"
)
_NO_COLON_ABOVE: Final = (
    "the line above has no colon: write key: value, or put a text of several lines in quotes"
)
_NOT_LINED_UP: Final = "the line does not fit those above: line it up with the key beside it"
_BEHIND_THE_END: Final = (
    "something stands behind the end of a quoted text or a list: put the whole text in quotes, and"
    " write a quote inside it twice"
)
_UNCLOSED_QUOTE: Final = "the quote that opens here is never closed: close it"
_UNENDED: Final = ("found unexpected end of stream", "found unexpected document indicator")
_NO_COLON: Final = "a colon is missing: write key: value"
_QUOTE_IT: Final = "a text cannot begin with this character: put the text in quotes"
_BACKSLASH: Final = "a backslash in double quotes begins an escape: use single quotes"

_ADVICE: Final = (
    ("cannot start any token", _QUOTE_IT),
    ("expected alphabetic or numeric character", _QUOTE_IT),
    ("expected node content", _QUOTE_IT),
    (
        "undefined alias",
        "a * begins a reference, and nothing has that name: put text in quotes",
    ),
    ("unknown escape", _BACKSLASH),
    ("expected hex", _BACKSLASH),
    ("another document", "a line --- begins a second document: keep one"),
    ("expected '-' indicator", "the line does not fit the list above: line it up with its entries"),
    ("expected <document start>", _NOT_LINED_UP),
    (
        "sequence entries are not allowed",
        "a list begins in a line of its own: put each - below its key",
    ),
    ("nesting depth", "the file is nested too deep"),
)
"""Words of libyaml, its spelling included, and what to do about each."""


def explain(error: yaml.MarkedYAMLError, text: str) -> tuple[Place, str]:
    """Return where the parser stumbled in ``text``, and one sentence that says what to do."""
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return (1, 1), _unknown(problem)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    tab = _tab_in_indent(line)
    if tab or "tab character" in problem:
        return (mark.line + 1, tab or mark.column + 1), _TAB
    if "mapping values" in problem:
        return _place(mark), _stray_colon(lines[: mark.line], line[: mark.column])
    if problem.endswith("expected key"):
        return _place(mark), _BEHIND_THE_END if line[: mark.column].strip() else _NOT_LINED_UP
    return _in_context(problem, mark, error.context_mark or mark)


def _place(mark: yaml.Mark) -> Place:
    return mark.line + 1, mark.column + 1


def _tab_in_indent(line: str) -> int:
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return indent.find("\t") + 1


def _stray_colon(lines_before: list[str], before: str) -> str:
    if ": " in before:
        return _COLON_IN_TEXT
    written = (line for line in reversed(lines_before) if line.split("#")[0].strip())
    return _DEEPER if ":" in next(written, ":") else _NO_COLON_ABOVE


def _in_context(problem: str, mark: yaml.Mark, began: yaml.Mark) -> tuple[Place, str]:
    """Explain what depends on where the thing began that went wrong at ``mark``."""
    if problem in _UNENDED:
        return _place(began), _UNCLOSED_QUOTE
    if "expected ':'" in problem:
        return _place(began), _NO_COLON
    for closing, kind in (("]", "list"), ("}", "mapping")):
        if f"expected ',' or '{closing}'" in problem:
            opened = f"the {closing} of the {kind} that opens in line {began.line + 1}"
            return _place(mark), f"before this a comma is missing, or {opened}"
    advice = next((advice for words, advice in _ADVICE if words in problem), _unknown(problem))
    return _place(mark), advice


def _unknown(problem: str) -> str:
    return f"this is no YAML: {problem.removeprefix('but ')}"
