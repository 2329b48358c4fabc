"""A program in argparse; ``click_program.py`` is the same in Click."""

# ruff: noqa: T201 - an ordinary program, as people write them

from __future__ import annotations

import argparse
import json

from fisk_ai.adapters.argparse import parse_args, tags

ROOT = ("token", "verbose")


def report(options: argparse.Namespace, **values: object) -> None:
    root = {"token": options.token, "verbose": options.verbose}
    print(json.dumps({"root": root, **values}))


def say(options: argparse.Namespace) -> None:
    names = ("message", "colour", "times", "pitch", "tag", "shout", "secret", "pair", "many")
    report(options, **{name: vars(options)[name] for name in names})


@tags("ai:confirm", "writes")
def teach(options: argparse.Namespace) -> None:
    report(options, jokes=options.jokes, name=options.name, level=options.level)


def ghost(options: argparse.Namespace) -> None:
    report(options)


def add_user(options: argparse.Namespace) -> None:
    report(options, name=options.name)


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Does a little of everything.")
    parser.add_argument("--version", action="version", version="9")
    parser.add_argument("--token", required=True, help="Who asks.")
    parser.add_argument(
        "--verbose", "-v", action=argparse.BooleanOptionalAction, default=False, help="Say more."
    )
    commands = parser.add_subparsers(required=True)
    _say(commands.add_parser("say", description="Say something.\n\nIt is printed as JSON."))
    _teach(commands.add_parser("teach", help="Learn jokes. (deprecated)"))
    commands.add_parser(
        "ghost", help=argparse.SUPPRESS, description="Not for agents."
    ).set_defaults(func=ghost)
    users = commands.add_parser("user", help="Works on users.").add_subparsers(required=True)
    add = users.add_parser("add", aliases=["create"], help="Add a user.")
    add.add_argument("name", nargs="?", default="nobody", help="The name.")
    add.set_defaults(func=add_user)
    return parser


def _say(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", help="What to say.")
    parser.add_argument("--colour", choices=["red", "blue"], default="red", help="In which colour.")
    parser.add_argument("--times", type=int, default=1, help="How often.")
    parser.add_argument("--pitch", type=float, default=1.5, help="How high.")
    parser.add_argument("--tag", action="append", default=[], help="Labels.")
    parser.add_argument("--shout", "-s", action="store_true", help="Louder.")
    parser.add_argument("--secret", default="", help=argparse.SUPPRESS)
    parser.add_argument("--pair", type=int, nargs=2, default=[1, 2], help="Two at once.")
    parser.add_argument("--many", action="count", default=0, help="More.")
    parser.set_defaults(func=say)


def _teach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jokes", nargs="+", help="The jokes.")
    parser.add_argument("--name", required=True, help="Of whom.")
    parser.add_argument("--verbose", dest="level", default="low", help="A level of its own.")
    parser.set_defaults(func=teach)


if __name__ == "__main__":
    given = parse_args(build(), name="sample", version="1.2.3")
    given.func(given)
