"""A program in Typer; ``click_program.py`` is the same in Click."""

# ruff: noqa: FBT002, PLR0917, T201 - an ordinary program, as people write them

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer

from fisk_ai.adapters.typer import run, tags


class Colour(enum.StrEnum):
    red = "red"
    blue = "blue"


app = typer.Typer(help="Does a little of everything.", add_completion=True)
user = typer.Typer(help="Works on users.")
app.add_typer(user, name="user")

_root: dict[str, object] = {}


def report(**values: object) -> None:
    plain = {
        key: value.value if isinstance(value, Colour) else value for key, value in values.items()
    }
    print(json.dumps({"root": _root, **plain}))


@app.callback()
def root(
    token: Annotated[str, typer.Option(help="Who asks.")],
    verbose: Annotated[
        bool, typer.Option("--verbose/--no-verbose", "-v", help="Say more.")
    ] = False,
) -> None:
    _root.update(token=token, verbose=verbose)


@app.command()
def say(
    message: Annotated[str, typer.Argument(help="What to say.")],
    colour: Annotated[Colour, typer.Option(help="In which colour.")] = Colour.red,
    times: Annotated[int, typer.Option(help="How often.")] = 1,
    pitch: Annotated[float, typer.Option(help="How high.")] = 1.5,
    tag: Annotated[list[str], typer.Option(help="Labels.")] = [],  # noqa: B006 - Typer copies it
    shout: Annotated[bool, typer.Option("--shout", "-s", help="Louder.")] = False,
    secret: Annotated[str, typer.Option(hidden=True)] = "",
    pair: Annotated[tuple[int, int], typer.Option(help="Two at once.")] = (1, 2),
    many: Annotated[int, typer.Option("--many", count=True, help="More.")] = 0,
) -> None:
    """Say something.

    It is printed as JSON.
    """
    report(
        message=message,
        colour=colour,
        times=times,
        pitch=pitch,
        tag=list(tag),
        shout=shout,
        secret=secret,
        pair=list(pair),
        many=many,
    )


@app.command(deprecated=True)
@tags("ai:confirm", "writes")
def teach(
    jokes: Annotated[list[str], typer.Argument(help="The jokes.")],
    name: Annotated[str, typer.Option(prompt=True, help="Of whom.")],
    verbose: Annotated[str, typer.Option(help="A level of its own.")] = "low",
) -> None:
    """Learn jokes."""
    report(jokes=list(jokes), name=name, level=verbose)


@app.command(hidden=True)
def ghost() -> None:
    """Not for agents."""
    report()


@user.command("add")
def add_user(name: Annotated[str, typer.Argument(help="The name.")] = "nobody") -> None:
    """Add a user."""
    report(name=name)


if __name__ == "__main__":
    run(app, name="sample", version="1.2.3")
