"""What is refused, left out and warned of, library by library."""

from __future__ import annotations

import json
from typing import Annotated, cast

import click
import pytest
import typer
from typer.main import get_command

from fisk_ai.adapters import click as click_adapter
from fisk_ai.adapters import typer as typer_adapter
from fisk_ai.adapters.click_reading import ClickCommand, Reader
from fisk_ai.adapters.entry import prepare
from fisk_ai.adapters.program import Program, check
from fisk_ai.adapters.tags import tags
from fisk_ai.errors import RefusedError


def read(root: object, name: str = "sample") -> Program:
    return Reader().program(cast("ClickCommand", root), name=name, version="")


def test_a_program_without_commands_is_one_command_of_its_own_name() -> None:
    @click.command()
    @click.argument("words", nargs=-1)
    def shout(words: tuple[str, ...]) -> None:
        """Shout."""

    program = read(shout, "my.tool")
    assert program.is_single
    assert program.options == ()
    assert [command.name for command in program.commands] == ["my_tool"]


def test_the_name_of_a_single_command_is_dropped_again_on_a_call() -> None:
    @click.command()
    @click.argument("words", nargs=-1)
    def shout(words: tuple[str, ...]) -> None:
        """Shout."""

    root = cast("ClickCommand", shout)
    given = ["my_tool", "--", "my_tool"]
    assert prepare(lambda name: read(root, name), given, name="my.tool") == ["--", "my_tool"]


def test_a_typer_program_of_one_command_is_read_alike() -> None:
    app = typer.Typer()

    @app.command()
    def shout(loud: Annotated[bool, typer.Option("--loud")] = False) -> None:  # noqa: FBT002
        """Shout."""

    (command,) = read(get_command(app)).commands
    assert [option.name for option in command.options] == ["loud"]
    assert command.help == "Shout."


def test_two_commands_that_give_one_tool_name_are_refused() -> None:
    @click.group()
    def cli() -> None:
        pass

    @cli.command("a_b")
    def direct() -> None:
        pass

    @cli.group("a")
    def group() -> None:
        pass

    @group.command("b")
    def below() -> None:
        pass

    with pytest.raises(RefusedError, match=r"a_b.*a b.*rename one"):
        check(read(cli))


def test_a_repeatable_argument_that_is_not_last_is_refused() -> None:
    @click.command()
    @click.argument("many", nargs=-1)
    @click.argument("one")
    def move(many: tuple[str, ...], one: str) -> None:
        pass

    with pytest.raises(RefusedError, match=r"many.*not the last"):
        check(read(move))


def test_an_argument_and_an_option_of_one_name_are_refused() -> None:
    @click.command()
    @click.argument("name")
    @click.option("--name", "name_option")
    def show(name: str, name_option: str) -> None:
        pass

    with pytest.raises(RefusedError, match="two parameters named name"):
        check(read(show))


def test_a_refusal_reaches_the_author_on_any_call() -> None:
    @click.command()
    @click.argument("many", nargs=-1)
    @click.argument("one")
    def move(many: tuple[str, ...], one: str) -> None:
        pass

    with pytest.raises(SystemExit) as ended:
        click_adapter.run(move, ["x"])
    assert ended.value.code == 1


def test_options_an_agent_cannot_use_are_left_out_with_a_warning() -> None:
    @click.command()
    @click.option("-s", "short_only")
    @click.option("--pair", nargs=2)
    @click.option("-l", "--lang", "--language")
    def show(**_: object) -> None:
        pass

    program = read(show)
    assert [option.name for option in program.commands[0].options] == ["language"]
    assert program.warnings == (
        "sample: option -s has no long form",
        "sample: option --pair takes several words at once",
    )


def test_a_required_option_of_a_group_is_warned_of() -> None:
    @click.group()
    def cli() -> None:
        pass

    @cli.group()
    @click.option("--realm", required=True)
    def user(realm: str) -> None:
        pass

    @user.command()
    def add() -> None:
        pass

    assert read(cli).warnings == ("user: required option --realm of a group cannot be given",)


def test_actions_of_the_library_are_not_part_of_a_program() -> None:
    @click.group()
    @click.version_option("1")
    def cli() -> None:
        pass

    @cli.command()
    @click.help_option("--help", "-h")
    @click.version_option("1")
    def add() -> None:
        pass

    @cli.command()
    @click.option("--version")
    def deploy(version: str) -> None:
        pass

    program = read(cli)
    assert program.options == ()
    first, second = program.commands
    assert first.options == ()
    assert [option.name for option in second.options] == ["version"]


def test_completion_options_of_typer_are_not_part_of_a_program() -> None:
    app = typer.Typer(add_completion=True)
    app.callback()(lambda: None)
    app.command("go")(lambda: None)
    assert read(get_command(app)).options == ()


@pytest.mark.parametrize(
    ("declaration", "name", "is_negatable"),
    [("--loud/--no-loud", "loud", True), ("--loud/--quiet", "loud", False), ("--on", "on", False)],
)
def test_a_flag_is_negatable_only_with_its_own_negation(
    declaration: str,
    name: str,
    is_negatable: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    @click.command()
    @click.option(declaration, default=False)
    def show(**_: object) -> None:
        pass

    (option,) = read(show).commands[0].options
    assert (option.name, option.kind, option.is_negatable) == (name, "boolean", is_negatable)


def test_a_prompt_with_a_default_is_optional() -> None:
    @click.command()
    @click.option("--name", prompt=True, default="nobody")
    @click.option("--other", prompt=True)
    def show(**_: object) -> None:
        pass

    first, second = read(show).commands[0].options
    assert (first.is_required, first.defaults) == (False, ("nobody",))
    assert (second.is_required, second.defaults) == (True, ())


def test_a_constant_option_is_a_flag() -> None:
    @click.command()
    @click.option("--upper", "case", flag_value="upper")
    def show(case: str) -> None:
        pass

    (option,) = read(show).commands[0].options
    assert (option.kind, option.is_cumulative, option.is_negatable) == ("boolean", False, False)


def test_tags_stand_above_or_below_the_library_s_decorator() -> None:
    @click.group()
    def cli() -> None:
        pass

    @cli.command()
    @tags("ai:confirm")
    @tags("writes")
    def below() -> None:
        pass

    @tags("ai:deny")
    @cli.command()
    def above() -> None:
        pass

    assert [command.tags for command in read(cli).commands] == [
        ("ai:confirm", "writes"),
        ("ai:deny",),
    ]


def test_tags_on_typer_commands_are_found() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)

    @tags("ai:deny")
    @app.command()
    def above() -> None:
        pass

    @app.command()
    @tags("ai:confirm", "writes")
    def below() -> None:
        pass

    assert [command.tags for command in read(get_command(app)).commands] == [
        ("ai:deny",),
        ("ai:confirm", "writes"),
    ]


@pytest.mark.parametrize("tag", ["", "two words", "line\nbreak"])
def test_a_tag_that_is_no_word_is_refused(tag: str) -> None:
    @click.command()
    @tags("ai:confirm", tag)
    def show() -> None:
        pass

    with pytest.raises(RefusedError, match=r"'sample' has the tag .*: a tag is one word"):
        check(read(show))


def test_introspection_ends_the_process_before_the_program_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = typer.Typer()

    @app.command()
    def explode() -> None:
        raise AssertionError("the program ran")

    with pytest.raises(SystemExit) as ended:
        typer_adapter.run(app, ["--fisk-introspect"], name="sample")
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["name"] == "sample"


def test_introspection_is_asked_for_by_one_argument_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    @click.argument("words", nargs=-1)
    def shout(words: tuple[str, ...]) -> None:
        click.echo(" ".join(words))

    with pytest.raises(SystemExit):
        click_adapter.run(shout, ["--", "--fisk-introspect"])
    assert capsys.readouterr().out == "--fisk-introspect\n"


def test_commands_a_group_makes_up_when_asked_are_found() -> None:
    class Lazy(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return ["made"]

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            return click.Command(cmd_name, help="Made up.")

    (command,) = read(Lazy("cli")).commands
    assert (command.name, command.help) == ("made", "Made up.")
