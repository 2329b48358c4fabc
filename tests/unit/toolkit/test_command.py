"""A command as a tool: described, validated, run."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.config import Config
from fisk_ai.errors import ToolError
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand, FakeFlag
from fisk_ai.toolkit.contract import (
    ArgumentValidator,
    BehaviorDescriber,
    CallContext,
    CommandLineRenderer,
    Confirmable,
    Describer,
    ExecDeps,
    Tagged,
    Tool,
    ToolOutcome,
)
from fisk_ai.toolkit.fisk.application import LoadedApplication, load
from fisk_ai.toolkit.fisk.command import CommandTool

Loading = Callable[..., Awaitable[LoadedApplication]]
Named = Callable[[Sequence[Tool], str], Tool]
Configure = Callable[..., Config]

NOTHING = CallContext()


@pytest.fixture
def command(
    configure: Configure, tmp_path: Path
) -> Callable[[FakeCommand], Awaitable[CommandTool]]:
    """Wrap one command of a real program as a tool."""

    async def wrap(wanted: FakeCommand) -> CommandTool:
        application = FakeApplication(tmp_path / "app", [wanted])
        (tool,) = (await load(configure(application.path), environ=os.environ)).tools
        return cast("CommandTool", tool)

    return wrap


Wrap = Callable[[FakeCommand], Awaitable[CommandTool]]


async def run(tool: Tool, raw: bytes = b"", work_dir: Path | None = None) -> ToolOutcome:
    return await tool.execute(NOTHING, raw, ExecDeps(work_dir=work_dir))


async def test_a_command_has_every_ability_of_a_tool(command: Wrap) -> None:
    tool = await command(FakeCommand(path="x"))
    for ability in (
        Describer,
        Confirmable,
        ArgumentValidator,
        BehaviorDescriber,
        Tagged,
        CommandLineRenderer,
    ):
        assert isinstance(tool, ability)
    assert tool.mcp_exposable
    assert tool.a2a_exposable


@pytest.mark.parametrize("code", [0, 1, 3])
async def test_any_exit_status_is_an_outcome_with_what_was_printed(
    command: Wrap, code: int
) -> None:
    outcome = await run(await command(FakeCommand(path="x y", output="said\n", exit_code=code)))
    assert outcome.output == "said\n"
    assert outcome.exec is not None
    assert (outcome.exec.command, outcome.exec.exit_code) == ("x y", code)
    assert not outcome.exec.truncated


async def test_the_words_reach_the_program_as_they_were_rendered(command: Wrap) -> None:
    tool = await command(
        FakeCommand(
            path="say",
            echo=True,
            flags=[FakeFlag(name="loud", boolean=True), FakeFlag(name="times", type="integer")],
            args=[FakeArg(name="message", required=True)],
        )
    )
    outcome = await run(tool, b'{"message":"-hi","times":2,"loud":true}')
    assert outcome.output == "say --loud --times=2 -- -hi\n"
    assert outcome.exec is not None
    assert outcome.exec.command == "say --loud --times=2 -- -hi"


async def test_the_command_line_for_those_it_is_served_to_is_that_of_the_envelope(
    command: Wrap,
) -> None:
    tool = await command(FakeCommand(path="x y", args=[FakeArg(name="what")]))
    raw = b'{"what":"a  \\u202eb"}'
    outcome = await run(tool, raw)
    assert outcome.exec is not None
    assert tool.command_line(raw) == outcome.exec.command == "x y -- a  \u202eb"
    with pytest.raises(ToolError, match="unknown property"):
        tool.command_line(b'{"other":1}')


async def test_one_name_for_an_argument_and_a_flag_means_the_argument(command: Wrap) -> None:
    tool = await command(
        FakeCommand(
            path="copy",
            args=[FakeArg(name="source", required=True)],
            flags=[FakeFlag(name="source", cumulative=True), FakeFlag(name="to")],
            echo=True,
        )
    )
    assert (await run(tool, b'{"source":["a"],"to":"b"}')).output == "copy --to=b -- a\n"


async def test_a_command_knows_its_call_and_its_caller(command: Wrap) -> None:
    names = ["LLMFORMAT", "FISK_AI", "FISK_AI_CALL"]
    tool = await command(FakeCommand(path="x", show_environment=names))
    for _ in range(2):
        outcome = await tool.execute(CallContext(call_ref="s-1/toolu_1"), b"", ExecDeps())
        assert outcome.output == "LLMFORMAT=1\nFISK_AI=1\nFISK_AI_CALL=s-1/toolu_1\n"
    assert (await run(tool)).output.endswith("FISK_AI_CALL=(unset)\n")


async def test_a_call_runs_in_its_work_directory(command: Wrap, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    tool = await command(FakeCommand(path="x", show_environment=["PWD"]))
    assert (await run(tool, work_dir=work)).output == f"PWD={work}\n"


@pytest.mark.parametrize(("size", "truncated"), [(65_536, False), (65_537, True)])
async def test_output_beyond_the_limit_keeps_both_ends(
    command: Wrap, size: int, *, truncated: bool
) -> None:
    text = "a" * 32_768 + "b" * (size - 2 * 32_768) + "c" * 32_768
    outcome = await run(await command(FakeCommand(path="x", output=text)))
    assert outcome.exec is not None
    assert outcome.exec.truncated is truncated
    marker = "\n...[output truncated]...\n"
    expected = text[:32_768] + marker + text[-32_768:] if truncated else text
    assert outcome.output == expected


async def test_output_that_is_cut_holds_no_character_the_command_never_wrote(command: Wrap) -> None:
    front, back = "x" * 32_767, "z" * 32_766
    text = f"{front}😀{'y' * 40_000}😀{back}"
    outcome = await run(await command(FakeCommand(path="x", output=text)))
    assert outcome.output == f"{front}\n...[output truncated]...\n{back}"


async def test_output_that_is_no_text_is_still_text_for_a_model(
    program: Callable[..., Path], configure: Configure
) -> None:
    path = program(
        'test "$1" = --fisk-introspect && echo '
        '\'{"name":"x","commands":[{"name":"go","restricted_schema":{}}]}\' || printf "a\\377b"'
    )
    (tool,) = (await load(configure(path), environ=os.environ)).tools
    assert (await run(tool)).output == "a\ufffdb"


async def test_a_lost_output_is_an_error_only_when_the_command_succeeded(
    program: Callable[..., Path], configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fisk_ai.toolkit.fisk.process.run.__kwdefaults__", {"linger_s": 0.1})
    path = program(
        'test "$1" = --fisk-introspect && { echo '
        '\'{"name":"x","commands":[{"name":"0","restricted_schema":{}},'
        '{"name":"4","restricted_schema":{}}]}\'; exit 0; }; '
        'sleep 60 & echo said; exit "$1"'
    )
    succeeds, fails = (await load(configure(path), environ=os.environ)).tools
    with pytest.raises(ToolError, match="output is lost"):
        await run(succeeds)
    outcome = await run(fails)
    assert outcome.output == "said\n"
    assert outcome.exec is not None
    assert outcome.exec.exit_code == 4


@pytest.mark.parametrize(
    "raw", [b"[]", b"{", b'{"nope":1}', b'{"message":"a\\u0000b"}', b'{"message":{}}']
)
async def test_arguments_that_form_no_command_line_are_a_refusal_in_words(
    command: Wrap, raw: bytes
) -> None:
    tool = await command(FakeCommand(path="say it", args=[FakeArg(name="message")]))
    with pytest.raises(ToolError) as caught:
        await run(tool, raw)
    assert str(caught.value)


async def test_a_refusal_names_the_command_even_when_nothing_could_be_read(command: Wrap) -> None:
    tool = await command(FakeCommand(path="say it"))
    with pytest.raises(ToolError, match='building command line for "say it": '):
        await run(tool, b"{")


async def test_describing_never_fails_and_falls_back_to_the_path(command: Wrap) -> None:
    tool = await command(FakeCommand(path="say it", args=[FakeArg(name="message")]))
    for raw in (b"{", b"[]", b'{"nope":1}', b"\xff"):
        info = tool.describe(raw)
        assert (info.display, info.display_short) == ("say it", "say it")
    assert (info.present, info.kind, info.needs_work_dir) == ("command", "application", True)
    assert not info.needs_prompter


async def test_a_person_sees_the_words_that_run(command: Wrap) -> None:
    tool = await command(
        FakeCommand(
            path="rm",
            flags=[FakeFlag(name="note")],
            args=[FakeArg(name="name"), FakeArg(name="to")],
        )
    )
    for raw, line in (
        (b'{"note":"x --dry-run","name":"prod"}', "rm --note='x --dry-run' -- prod"),
        (b'{"note":"","name":""}', "rm --note='' -- ''"),
        (b'{"name":"a  b"}', r"rm -- 'a \u{20}b'"),
        (b'{"name":"a\\u001b[31mred\\nline"}', r"rm -- 'a\u{1b}[31mred\u{a}line'"),
        (b'{"name":"pr\\u200bod"}', r"rm -- 'pr\u{200b}od'"),
        (b'{"note":"plain","name":"-hi"}', "rm --note=plain -- -hi"),
    ):
        info = tool.describe(raw)
        assert (tool.trace_line(raw), info.display, info.display_short) == (line, line, line)


async def test_a_hidden_argument_leaves_its_name_to_a_flag_that_is_shown(command: Wrap) -> None:
    tool = await command(
        FakeCommand(
            path="rm",
            flags=[FakeFlag(name="note")],
            args=[FakeArg(name="note", hidden=True, default=["kept"]), FakeArg(name="name")],
        )
    )
    assert tool.trace_line(b'{"note":"x"}') == "rm --note=x"
    assert tool.trace_line(b'{"note":"x","name":"prod"}') == "rm --note=x -- kept prod"


async def test_a_long_value_hides_no_word_behind_it(command: Wrap) -> None:
    tool = await command(
        FakeCommand(path="rm", flags=[FakeFlag(name="note")], args=[FakeArg(name="name")])
    )
    line = tool.trace_line(b'{"note":"' + b"x" * 2100 + b'","name":"prod"}')
    assert line.endswith("x -- prod")
    assert line.startswith("rm --note=xxx")
    assert "...(1588 more)..." in line


async def test_the_short_line_cuts_values_and_nothing_else(command: Wrap) -> None:
    tool = await command(
        FakeCommand(
            path="deploy-everything-everywhere now",
            flags=[FakeFlag(name="a-very-long-flag-name"), FakeFlag(name="map", cumulative=True)],
            args=[FakeArg(name="rest", cumulative=True)],
        )
    )
    raw = (
        b'{"a-very-long-flag-name":"0123456789abcdefghij","map":{"key":"0123456789abcdef"},'
        b'"rest":["0123456789abcdefghi","01234567\\u001b[31mabcdefghijklmno"]}'
    )
    assert tool.describe(raw).display_short == (
        "deploy-everything-everywhere now --a-very-long-flag-name=0123456789...efghij "
        "--map=key=012345...abcdef -- 0123456789abcdefghi "
        r"'01234567\u{1b}['...jklmno"
    )


async def test_missing_arguments_are_named_with_the_whole_roster(
    loaded: Loading, named: Named
) -> None:
    dock = cast("CommandTool", named((await loaded("harbour")).tools, "ship_dock"))
    assert dock.missing_required(b'{"draft":1}') == ["name", "port"]
    message = dock.missing_required_message(["name", "port"])
    assert '"ship_dock"' in message
    assert "required: name, draft, port; optional: cargo, mark, note, plan" in message


async def test_tags_gate_describe_and_keep_in_front(loaded: Loading, named: Named) -> None:
    tools = (await loaded("harbour")).tools
    dock = cast("CommandTool", named(tools, "ship_dock"))
    scrap = cast("CommandTool", named(tools, "ship_scrap"))
    assert dock.needs_confirm(())
    assert dock.confirm_trigger(("dock:write",)) == "ai:confirm"
    assert not scrap.needs_confirm(())
    assert scrap.confirm_trigger(("ai:destructive",)) == "ai:destructive"
    assert scrap.behavior().destructive is True
    assert scrap.behavior().read_only is False
    assert dock.command() == "ship dock"
    assert dock.tags() == ("ai:additive", "ai:confirm", "dock:write")
