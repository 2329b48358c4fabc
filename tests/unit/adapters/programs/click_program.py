"""A program in Click; ``typer_program.py`` is the same in Typer."""

# ruff: noqa: T201 - an ordinary program, as people write them

from __future__ import annotations

import json

import click

from fisk_ai.adapters.click import run, tags

_root: dict[str, object] = {}


def report(**values: object) -> None:
    print(json.dumps({"root": _root, **values}))


@click.group(help="Does a little of everything.")
@click.version_option("9")
@click.option("--token", required=True, help="Who asks.")
@click.option("--verbose/--no-verbose", "-v", default=False, help="Say more.")
def cli(token: str, verbose: bool) -> None:  # noqa: FBT001 - Click passes options by name
    _root.update(token=token, verbose=verbose)


@cli.command()
@click.argument("message", help="What to say.")
@click.option(
    "--colour", type=click.Choice(["red", "blue"]), default="red", help="In which colour."
)
@click.option("--times", type=int, default=1, help="How often.")
@click.option("--pitch", type=float, default=1.5, help="How high.")
@click.option("--tag", multiple=True, help="Labels.")
@click.option("--shout", "-s", is_flag=True, help="Louder.")
@click.option("--secret", default="", hidden=True)
@click.option("--pair", type=(int, int), default=(1, 2), help="Two at once.")
@click.option("--many", count=True, help="More.")
def say(**values: object) -> None:
    """Say something.

    It is printed as JSON.
    """
    report(**values)


@tags("ai:confirm", "writes")
@cli.command(deprecated=True)
@click.argument("jokes", nargs=-1, required=True, help="The jokes.")
@click.option("--name", prompt=True, help="Of whom.")
@click.option("--verbose", default="low", help="A level of its own.")
def teach(jokes: tuple[str, ...], name: str, verbose: str) -> None:
    """Learn jokes."""
    report(jokes=list(jokes), name=name, level=verbose)


@cli.command(hidden=True)
def ghost() -> None:
    """Not for agents."""
    report()


@cli.group("user", help="Works on users.")
def user() -> None:
    pass


@user.command("add")
@click.argument("name", default="nobody", help="The name.")
def add_user(name: str) -> None:
    """Add a user."""
    report(name=name)


if __name__ == "__main__":
    run(cli, name="sample", version="1.2.3")
