#!/usr/bin/env python3
"""A cow that says things: an ordinary Typer program that an agent can use, too."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from fisk_ai.adapters.typer import run, tags

app = typer.Typer(help="A cow that says things.", add_completion=False)

COW = r"""
        {0}   ^__^
         {0}  (oo)\_______
            (__)\       )\/\
                ||----w |
                ||     ||
"""

Message = Annotated[str, typer.Argument(help="What goes into the bubble.")]
Width = Annotated[int, typer.Option(min=10, max=120, help="Letters in a line of the bubble.")]


@app.command()
def say(message: Message, width: Width = 40) -> None:
    """Let the cow say something."""
    print(bubble(message, width) + COW.format("\\"))


@app.command()
def think(message: Message, width: Width = 40) -> None:
    """Let the cow think something."""
    print(bubble(message, width) + COW.format("o"))


@app.command()
@tags("ai:confirm")
def teach(
    joke: Annotated[str, typer.Argument(help="The joke, in one line.")],
    file: Annotated[Path, typer.Option(help="The file it is added to.")] = Path("jokes.txt"),
) -> None:
    """Teach the cow a joke: adds a line to a file."""
    line = " ".join(joke.split())
    with file.open("a", encoding="utf-8") as jokes:
        jokes.write(line + "\n")
    print(f"Learned: {line}")


def bubble(message: str, width: int) -> str:
    """Draw a speech bubble around a message."""
    lines = textwrap.wrap(message, width) or [""]
    inside = max(len(line) for line in lines)
    rows = [f"| {line:<{inside}} |" for line in lines]
    return "\n".join([" " + "_" * (inside + 2), *rows, " " + "-" * (inside + 2)])


if __name__ == "__main__":
    run(app, name="cowsay")
