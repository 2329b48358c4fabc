"""Finding and loading the configured application."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.errors import SetupError
from fisk_ai.toolkit.contract import Advisory, CallContext, Confirmable, ExecDeps
from fisk_ai.toolkit.fisk.application import LoadedApplication, load
from fisk_ai.toolkit.fisk.program import resolve_application

Loading = Callable[..., Awaitable[LoadedApplication]]
Configure = Callable[..., Config]
Program = Callable[..., Path]


async def test_no_application_means_no_tools_and_no_error(configure: Configure) -> None:
    application = await load(configure(""), environ={})
    assert application == LoadedApplication()


async def test_a_loaded_application_says_who_it_is(loaded: Loading) -> None:
    application = await loaded("bakery")
    assert application.name == "bakery"
    assert application.help == "Bake bread"
    assert application.program is not None
    assert application.program.name == "bakery"


@pytest.mark.parametrize("document", ["{}", '{"name":"x","commands":[]}', '{"error":"busy"}'])
async def test_a_program_that_describes_no_commands_is_refused_as_such(
    configure: Configure, program: Program, document: str
) -> None:
    path = program(f"echo '{document}'")
    with pytest.raises(SetupError) as caught:
        await load(configure(path), environ=os.environ)
    assert f"{path} failed: it describes no commands" in str(caught.value)
    assert caught.value.key == "application_path"


def test_an_absolute_path_is_taken_as_it_is(configure: Configure) -> None:
    assert resolve_application(configure("/opt/x/../app"), {}) == Path("/opt/app")


def test_a_relative_path_starts_at_the_configuration(configure: Configure, tmp_path: Path) -> None:
    assert resolve_application(configure("./app"), {}) == tmp_path / "app"
    assert resolve_application(configure("bin/app"), {}) == tmp_path / "bin" / "app"


def test_a_bare_name_is_found_on_the_path(
    configure: Configure, program: Program, tmp_path: Path
) -> None:
    path = program("true", name="wrapped-thing")
    environ = {"PATH": f"/absent:{tmp_path}"}
    assert resolve_application(configure("wrapped-thing"), environ) == path


def test_a_bare_name_is_found_beside_the_interpreter(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    beside = tmp_path / "bin" / "wrapped-thing"
    beside.write_text("#!/bin/sh\n")
    beside.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert resolve_application(configure("wrapped-thing"), {"PATH": "/absent"}) == beside


@pytest.mark.parametrize("environ", [{"PATH": "/absent"}, {}])
def test_a_bare_name_found_nowhere_is_named(configure: Configure, environ: dict[str, str]) -> None:
    with pytest.raises(SetupError) as caught:
        resolve_application(configure("no-such-program-anywhere"), environ)
    assert '"no-such-program-anywhere"' in str(caught.value)
    assert caught.value.key == "application_path"


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("greeter.py", "it lies beside the configuration; write ./greeter.py"),
        ("./greeter.py --db x", "it takes no arguments; write the path of the program alone"),
        ("greeter.py --db ./x", "it takes no arguments; write the path of the program alone"),
        ("sh greeter.py", "it takes no arguments; write the path of the program alone"),
        ("sh ./greeter.py", "it takes no arguments; write the path of the program alone"),
        ("~/greeter.py", "neither ~ nor variables are expanded in it; write the whole path"),
        ("$HOME/greeter.py", "neither ~ nor variables are expanded in it; write the whole path"),
        ("/opt/${NAME}/x", "neither ~ nor variables are expanded in it; write the whole path"),
        ("$GREETER", "neither ~ nor variables are expanded in it; write the whole path"),
    ],
)
def test_a_path_that_a_shell_would_read_comes_with_what_to_write(
    configure: Configure, program: Program, written: str, advice: str
) -> None:
    program("true", name="greeter.py")
    config = configure(written, "identity: greeter\n")
    with pytest.raises(SetupError) as caught:
        resolve_application(config, {"PATH": os.defpath})
    assert str(caught.value).startswith(f'application_path: "{written}" is ')
    assert advice in str(caught.value)
    assert caught.value.key == "application_path"


@pytest.mark.parametrize("name", ["~/greet me", "$HOME/greeter", "./greet me"])
def test_a_file_that_is_there_is_taken_whatever_its_name(
    configure: Configure, program: Program, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    path = program("true", name=name)
    assert resolve_application(configure(name, "identity: greeter\n"), {}) == path


async def test_facts_a_person_should_know_are_told_in_order(loaded: Loading) -> None:
    application = await loaded("harbour", "harness: {confirm_tags: [dock:write, nope, never]}\n")
    assert application.advisories == (
        Advisory(kind="confirm_tag_unmatched", name="nope"),
        Advisory(kind="confirm_tag_unmatched", name="never"),
        Advisory(kind="unknown_reserved_tag", name="ship_scrap", params=("ai:loud",)),
        Advisory(
            kind="behavior_tag_conflict",
            name="ship_scrap",
            params=("ai:read_only", "ai:destructive"),
        ),
    )


GROUPED = """cat <<'X'
{"name":"x","commands":[
{"name":"safe","restricted_schema":{}},
{"name":"db","tags":["ai:confirm","ai:destructive"],"commands":[
  {"name":"list","restricted_schema":{},"tags":["free"]},
  {"name":"old","tags":["ai:deny"],"commands":[
    {"name":"deep","commands":[{"name":"drop","restricted_schema":{}}]}]},
  {"name":"new","tags":["AI:DENY"],"commands":[{"name":"make","restricted_schema":{}}]}]}]}
X"""


async def test_a_denied_group_has_no_tools_and_a_gated_one_asks_for_each(
    configure: Configure, program: Program
) -> None:
    application = await load(
        configure(program(GROUPED), "include: {tools: [.]}\n"), environ=os.environ
    )
    gated = {
        tool.name: tool.needs_confirm(())
        for tool in application.tools
        if isinstance(tool, Confirmable)
    }
    assert gated == {"safe": False, "db_list": True, "db_new_make": True}


async def test_reserved_tags_without_effect_on_a_group_are_told(
    configure: Configure, program: Program
) -> None:
    path = program(GROUPED)
    application = await load(configure(path), environ=os.environ)
    assert application.advisories == (
        Advisory(kind="unknown_reserved_tag", name="db", params=("ai:destructive",)),
        Advisory(kind="unknown_reserved_tag", name="db new", params=("AI:DENY",)),
    )
    without = await load(configure(path, "exclude: {tools: [db]}\n"), environ=os.environ)
    assert without.advisories == ()


async def test_a_tag_that_only_dropped_tools_carry_is_unmatched(loaded: Loading) -> None:
    application = await loaded(
        "harbour", "exclude: {tools: [dock, scrap]}\nharness: {confirm_tags: [dock:write]}\n"
    )
    assert application.advisories == (Advisory(kind="confirm_tag_unmatched", name="dock:write"),)


async def test_clashing_commands_can_be_excluded(configure: Configure, program: Program) -> None:
    path = program(
        """cat <<'X'
{"name":"x","commands":[{"name":"a_b","restricted_schema":{},"tags":["old"]},
{"name":"a","commands":[{"name":"b","restricted_schema":{}}]},
{"name":"a.c","restricted_schema":{}}]}
X"""
    )
    with pytest.raises(SetupError):
        await load(configure(path), environ=os.environ)
    more = "exclude: {tools: ['[.]'], tags: [old]}\n"
    assert [
        tool.name for tool in (await load(configure(path, more), environ=os.environ)).tools
    ] == ["a_b"]


async def test_a_root_directory_is_where_commands_and_introspection_run(
    configure: Configure, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = program(
        'test "$1" = --fisk-introspect && { echo "{\\"name\\":\\"$(basename $(pwd))\\",'
        '\\"commands\\":[{\\"name\\":\\"go\\",\\"restricted_schema\\":{}}]}"; exit; }; pwd'
    )
    application = await load(configure(path, f"root_directory: {root}\n"), environ=os.environ)
    assert application.name == "root"
    outcome = await application.tools[0].execute(CallContext(), b"", ExecDeps())
    assert outcome.output == f"{root}\n"


async def test_a_variable_the_configuration_calls_a_secret_reaches_no_child(
    configure: Configure, program: Program
) -> None:
    path = program(
        'test "$1" = --fisk-introspect && { echo "{\\"name\\":\\"<$EMBED_KEY>\\",'
        '\\"commands\\":[{\\"name\\":\\"go\\",\\"restricted_schema\\":{}}]}"; exit; };'
        ' echo "<$EMBED_KEY>"'
    )
    named = "harness: {knowledge: {embeddings: {api_key_env: EMBED_KEY}}}\n"
    environ = {**os.environ, "EMBED_KEY": "secret"}
    application = await load(configure(path, named), environ=environ)
    outcome = await application.tools[0].execute(CallContext(), b"", ExecDeps())
    assert (application.name, outcome.output) == ("<>", "<>\n")


async def test_a_tool_whose_program_went_away_fails_in_words(
    loaded: Loading, tmp_path: Path
) -> None:
    application = await loaded("bakery")
    (tmp_path / "bakery").unlink()
    with pytest.raises(Exception, match="cannot start"):
        await application.tools[1].execute(CallContext(), b"", ExecDeps())
    assert shutil.which("bakery", path=str(tmp_path)) is None
