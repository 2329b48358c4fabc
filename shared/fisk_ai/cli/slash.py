"""What a typed line of a chat means: a prompt, or a command that begins with a slash.

Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Meaning = Literal["nothing", "prompt", "clear", "restart", "exit", "help", "unknown"]

_COMMANDS: Final[Mapping[str, Meaning]] = {
    "/clear": "clear",
    "/restart": "restart",
    "/redo": "restart",
    "/repeat": "restart",
    "/exit": "exit",
    "/quit": "exit",
    "/help": "help",
}

HELP = """\
Enter sends the line to the agent. Arrow keys edit it and recall earlier ones.
  /clear [prompt]  forget the conversation; go on with prompt, if any
  /restart         forget it and send the first prompt (/redo, /repeat)
  /exit            leave; the conversation is kept (/quit, Ctrl-D, Ctrl-C)
  /help            show this
  //text           send /text to the agent
While the agent works, Ctrl-C asks it to stop where it can be resumed, and the
chat ends there; again ends it at once. What is typed meanwhile is not sent."""


@dataclass(frozen=True, slots=True)
class Line:
    """A typed line; ``text`` is the prompt, a command's argument, or the unknown command."""

    meaning: Meaning
    text: str = ""


def read(typed: str) -> Line:
    """Return what ``typed`` means; the line breaks inside a prompt or an argument are kept."""
    line = typed.strip()
    if not line:
        return Line("nothing")
    if line.startswith("//"):
        return Line("prompt", line[1:])
    if not line.startswith("/"):
        return Line("prompt", typed)
    word, argument = (*line.split(maxsplit=1), "")[:2]
    meaning = _COMMANDS.get(word.lower())
    return Line("unknown", word) if meaning is None else Line(meaning, argument)
