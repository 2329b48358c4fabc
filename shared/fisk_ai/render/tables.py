"""Tables in rounded boxes and documents of labelled values, with nothing but the standard library.

What listings print must start fast; every string is expected to be sanitised already.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_VALUE_LEAST = 20
"""Columns of a value on the narrowest terminal: fewer would be a word a line."""

_WIDE = frozenset("WF")
_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Categories of what is drawn over, around or into the character before it."""

_JOINER = "\u200d"
_AS_EMOJI = "\ufe0f"
"""Makes the symbol before it an emoji, which is wide."""

_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_VISIBLE_FORMATS = frozenset({"\u00ad"})
"""Formatting characters that a terminal gives a column all the same."""

_HANGUL_TAILS = range(0x1160, 0x1200)
"""Vowels and final consonants, drawn into the syllable that they end."""


def cell_width(text: str) -> int:
    """Return how many columns ``text`` takes on a terminal.

    A sequence of joined emoji takes the columns of its first, as terminals that know it draw it.
    """
    return sum(columns for _, columns in _cells(text))


def _cells(text: str) -> Iterator[tuple[str, int]]:
    before, taken = "", 0
    for char in text:
        if before == _JOINER or char in _SKIN_TONES:
            columns = 0
        elif char == _AS_EMOJI:
            columns = 1 if taken == 1 else 0
        else:
            columns = _columns(char)
        yield char, columns
        before, taken = char, columns


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if ord(char) in _HANGUL_TAILS:
        return 0
    if unicodedata.category(char) in _WITHOUT_WIDTH and char not in _VISIBLE_FORMATS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a boxed table without a trailing line break; every row has a cell per column."""
    widths = _widths(header, rows)
    lines = [_rule("╭┬╮", widths), _row(header, widths), _rule("├┼┤", widths)]
    lines.extend(_row(row, widths) for row in rows)
    lines.append(_rule("╰┴╯", widths))
    return "\n".join(lines)


def fitted(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    least: Mapping[int, int],
) -> list[list[str]] | None:
    """Return ``rows`` cut so that their table is at most ``width`` columns wide.

    Cut are the columns that ``least`` numbers, in its order, none below its value or its heading.
    Returns ``None`` when that is not enough.
    """
    widths = _widths(header, rows)
    excess = sum(widths) + 3 * len(widths) + 1 - width
    for column, smallest in least.items():
        spare = max(0, widths[column] - max(smallest, cell_width(header[column])))
        taken = min(spare, max(0, excess))
        widths[column] -= taken
        excess -= taken
    if excess > 0:
        return None
    return [[cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows]


def within(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    least: Mapping[int, int],
    whole: int = 1,
) -> str:
    """Return a table of at most ``width`` columns; ``None`` is no limit.

    ``least`` is as of :func:`fitted`. Where cutting is not enough, each row is a few lines: its
    first ``whole`` cells, which are never cut since they are there to be copied, and then the
    others, named.
    """
    rows_that_fit = rows if width is None else fitted(header, rows, width=width, least=least)
    if rows_that_fit is not None or width is None:
        return table(header, rows_that_fit or rows)
    return "\n".join(line for row in rows for line in _stacked(header, row, width, whole))


def _stacked(header: Sequence[str], row: Sequence[str], width: int, whole: int) -> Iterator[str]:
    yield row[0]
    yield from (f"  {cell}" for cell in row[1:whole])
    line = ""
    for name, cell in zip(header[whole:], row[whole:], strict=True):
        part = f"  {name}: {cell}"
        if line and cell_width(line + part) > width:
            yield cut(line, width)
            line = ""
        line += part
    if line:
        yield cut(line, width)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` columns, with an ellipsis where it was cut."""
    if cell_width(text) <= width:
        return text
    kept, left = "", width - 1
    for char, columns in _cells(text):
        left -= columns
        if left < 0:
            break
        kept += char
    return f"{kept}…"


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_width(cell) for cell in column) for column in zip(header, *rows, strict=True)]


def _rule(corners: str, widths: Sequence[int]) -> str:
    left, middle, right = corners
    return left + middle.join("─" * (width + 2) for width in widths) + right


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - cell_width(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return "│ " + " │ ".join(padded) + " │"


@dataclass(slots=True)
class Document:
    """A titled list of ``Label: value`` items whose labels end in one column."""

    title: str
    width: int | None = None
    """Columns of the terminal, at whose edge values are broken between words; no limit if none."""
    _entries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def item(self, label: str, value: str) -> None:
        """Add one item; the lines of a longer value stay in the value's column."""
        self._entries.append((label, value))

    def optional(self, label: str, value: str) -> None:
        """Add the item unless its value is empty."""
        if value:
            self.item(label, value)

    def section(self, title: str, lines: Sequence[str]) -> None:
        """Add a heading with indented lines below; nothing when there are no lines."""
        if lines:
            self._entries.append(
                ("", "\n".join([f"{title}:", "", *(f"  {line}" for line in lines)]))
            )

    def text(self) -> str:
        """Return the document without a trailing line break."""
        width = max((cell_width(label) for label, _ in self._entries if label), default=0)
        parts = [f"{self.title}:", ""]
        for label, value in self._entries:
            shown = value if self.width is None else _broken(value, self.width - width - 4)
            parts.extend(_item(label, shown, width) if label else ["", *_indent(value)])
        return "\n".join(line.rstrip() for line in parts)


def _broken(value: str, width: int) -> str:
    """Break the lines of ``value`` between words; a path or an address stays whole."""
    lines = (
        textwrap.wrap(
            line, max(width, _VALUE_LEAST), break_long_words=False, break_on_hyphens=False
        )
        for line in value.split("\n")
    )
    return "\n".join("\n".join(line) for line in lines)


def _item(label: str, value: str, width: int) -> list[str]:
    first, *rest = value.split("\n")
    lead = " " * (width - cell_width(label) + 2)
    return [f"{lead}{label}: {first}", *(f"{' ' * (width + 4)}{line}" for line in rest)]


def _indent(block: str) -> list[str]:
    return [f"  {line}" for line in block.split("\n")]
