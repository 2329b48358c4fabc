"""What an author sees who hands an adapter something it cannot run: one sentence, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TYPER = "run() of fisk_ai.adapters.typer takes a typer.Typer program, not "
CLICK = "run() of fisk_ai.adapters.click takes a Click command or group, not "
MAKE_ONE = "make it a command of the library first"

PROGRAM = """
import functools
import click
import typer
import typer.main
from fisk_ai.adapters import click as click_adapter, typer as typer_adapter

def greet(): pass

@click.command()
@click.argument("words", nargs=-1)
@click.argument("last")
def unusable(words, last): pass

app = typer.Typer()
app.command("hello")(greet)
app.command("bye")(greet)

{call}
"""


def end_of(folder: Path, call: str, *arguments: str) -> tuple[int, str, str]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(call=call), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [(), ("--fisk-introspect",)])
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("typer_adapter.run(greet)", f"{TYPER}the function greet: {MAKE_ONE}"),
        ("typer_adapter.run(None)", f"{TYPER}nothing"),
        ("typer_adapter.run('app')", f"{TYPER}a value of type str"),
        ("typer_adapter.run(typer.Typer)", f"{TYPER}the class Typer: {MAKE_ONE}"),
        (
            "typer_adapter.run(unusable)",
            f"{TYPER}a Click command: use fisk_ai.adapters.click",
        ),
        (
            "typer_adapter.run(typer.Typer())",
            "the Typer program has no command: add one with @app.command()",
        ),
        ("click_adapter.run(greet)", f"{CLICK}the function greet: {MAKE_ONE}"),
        ("click_adapter.run(None)", f"{CLICK}nothing"),
        ("click_adapter.run(click.Command)", f"{CLICK}the class Command: {MAKE_ONE}"),
        (
            "click_adapter.run(functools.partial(greet))",
            f"{CLICK}a value of type partial",
        ),
        ("click_adapter.run(app)", f"{CLICK}a Typer program: use fisk_ai.adapters.typer"),
        (
            "click_adapter.run(unusable)",
            (
                "argument words of 'program' takes several values and is not the last; make it the"
                " last one or an option"
            ),
        ),
    ],
)
def test_what_cannot_be_run_ends_in_one_sentence(
    tmp_path: Path, call: str, sentence: str, arguments: tuple[str, ...]
) -> None:
    assert end_of(tmp_path, call, *arguments) == (1, "", f"fisk-ai: error: {sentence}\n")


def test_the_command_that_typer_made_of_a_program_is_run_as_one(tmp_path: Path) -> None:
    call = "click_adapter.run(typer.main.get_command(app))"
    assert end_of(tmp_path, call, "hello") == (0, "", "")
