"""The command line a person reads before it runs: exact, in one line, and never missing its end.

What somebody approves must be what runs, so every word stands there as it is or quoted. When the
line is too long, values lose their middle before any word is left out, and what is left out is
counted. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fisk_ai.text import words
from fisk_ai.text.sanitise import elide_middle
from fisk_ai.toolkit.fisk.argv import END_OF_FLAGS, Line

LINE_LIMIT = 1_900
"""Code points of a line: a question has 2000, of which the gate needs a few for its own words."""

_ROOMS = (LINE_LIMIT, 512, 256, 128, 64, 32, 16, 8)
"""Code points left of each value, tried in turn until the line fits."""

_NOTE_ROOM = 40
"""Code points kept for the note about words that are not shown, with its blanks."""

_Piece = tuple[str, str | None]
"""What is never cut, and the value behind it, if there is one."""

_Show = Callable[[str], str]


def full(line: Line) -> str:
    """Return the line for a decision: whole if it fits, else with long values cut."""
    pieces = _pieces(line)
    for room in _ROOMS:
        show = partial(words.elided, room=room)
        fitting = _within(pieces, show, LINE_LIMIT)
        if len(fitting) == len(pieces):
            return " ".join(fitting)
    return _ends(pieces, partial(words.elided, room=_ROOMS[-1]))


def short(line: Line) -> str:
    """Return the line for a trace: each value is its first ten and last six code points."""
    pieces = _pieces(line)
    show = partial(elide_middle, show=words.shown)
    fitting = _within(pieces, show, LINE_LIMIT)
    return " ".join(fitting) if len(fitting) == len(pieces) else _ends(pieces, show)


def _pieces(line: Line) -> list[_Piece]:
    pieces: list[_Piece] = [(word, None) for word in line.path]
    pieces += [_flag(word) for word in line.flags]
    if line.positionals:
        pieces += [(END_OF_FLAGS, None), *(("", word) for word in line.positionals)]
    return pieces


def _flag(word: str) -> _Piece:
    name, equals, value = word.partition("=")
    return (name + equals, value) if equals else (word, None)


def _shown(piece: _Piece, show: _Show) -> str:
    kept, value = piece
    if value is None:
        return words.shown(kept)
    return (words.shown(kept) if kept else "") + show(value)


def _within(pieces: Iterable[_Piece], show: _Show, room: int) -> list[str]:
    """Return the leading words, as shown, that have a place in ``room`` with blanks between."""
    fitting: list[str] = []
    for piece in pieces:
        word = _shown(piece, show)
        room -= len(word) + bool(fitting)
        if room < 0:
            break
        fitting.append(word)
    return fitting


def _ends(pieces: Sequence[_Piece], show: _Show) -> str:
    """Return both ends of a line of too many words: its target is most often the last one."""
    room = (LINE_LIMIT - _NOTE_ROOM) // 2
    head = _within(pieces, show, room)
    tail = _within(reversed(pieces[len(head) :]), show, room)
    missing = len(pieces) - len(head) - len(tail)
    return " ".join([*head, f"...({missing} words not shown)...", *reversed(tail)])
