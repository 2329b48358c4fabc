"""Which built-in tools a configuration switches on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.config.harness_rules import BUILTIN_TOOLS
from fisk_ai.errors import ConfigError, ToolError
from fisk_ai.toolkit.builtin.assemble import Builtins, build
from fisk_ai.toolkit.contract import CallContext, Confirmable, Describer, ExecDeps

ALL: Mapping[str, object] = {
    "human_in_the_loop": {"enabled": True},
    "memory": {"enabled": True},
    "tools": [{"name": "base64_encode"}, {"name": "read_file"}],
}


def of(harness: Mapping[str, object], **more: object) -> Builtins:
    return build(Config.model_validate({"harness": harness, **more}), memory=None)


def names(builtins: Builtins) -> list[str]:
    return [tool.name for tool in builtins.tools]


def test_nothing_is_on_by_default() -> None:
    assert names(of({})) == []


def test_questions_come_first_then_memory_then_listed_tools_in_their_order() -> None:
    builtins = of(ALL)
    assert names(builtins) == [
        "ask_human_confirm",
        "ask_human_select",
        "ask_human_input",
        "memory_list",
        "memory_read",
        "memory_write",
        "memory_delete",
        "base64_encode",
        "read_file",
    ]
    assert builtins.feature_of["ask_human_input"] == "harness.human_in_the_loop"
    assert builtins.feature_of["memory_write"] == "harness.memory"
    assert builtins.feature_of["read_file"] == "harness.tools"
    for tool in builtins.tools:
        assert isinstance(tool, Describer)
        assert tool.describe(b"{}").kind == "builtin"
        assert not tool.definition(defer_loading=True).defer_loading


def test_a_read_only_memory_is_listed_and_read() -> None:
    memory = {"enabled": True, "read_only": True}
    assert names(of({"memory": memory})) == ["memory_list", "memory_read"]


def test_filters_hold_for_built_ins_under_their_own_names() -> None:
    builtins = of(ALL, exclude={"tools": ["^memory_write$", "^ask_"]})
    assert names(builtins) == [
        "memory_list",
        "memory_read",
        "memory_delete",
        "base64_encode",
        "read_file",
    ]
    assert "memory_write" not in builtins.feature_of
    assert names(of(ALL, include={"tags": ["impact:ro"]})) == []
    assert len(names(of(ALL, include={"tags": [""]}))) == 9


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([{"name": ""}], "entry 1 has no name"),
        ([{"name": "read_file"}, {"confirm": True}], "entry 2 has no name"),
        (
            [{"name": "memory_read"}],
            '"memory_read" is not a built-in an entry can enable; accepted: read_file, base64_',
        ),
        ([{"name": "read_file"}, {"name": "read_file"}], '"read_file" is listed twice'),
        (
            [{"name": "base64_encode", "options": {"x": 1}}],
            (
                "invalid base64_encode options: harness.tools[0].options: "
                'unknown key "x", it takes none'
            ),
        ),
        (
            [{"name": "base64_encode"}, {"name": "read_file", "options": {"rot": 1}}],
            (
                "invalid read_file options: harness.tools[1].options: "
                'unknown key "rot", known are [root max_bytes]'
            ),
        ),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(
    entries: list[dict[str, object]], reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        of({"tools": entries})
    assert reason in str(caught.value)
    assert caught.value.key.startswith("harness.tools")


def test_the_configuration_accepts_exactly_the_tools_that_can_be_built() -> None:
    entries = [{"name": name} for name in BUILTIN_TOOLS]
    assert names(of({"tools": entries})) == list(BUILTIN_TOOLS)
    with pytest.raises(ConfigError, match=f"accepted: {', '.join(BUILTIN_TOOLS)}"):
        of({"tools": [{"name": "none_of_them"}]})


_LISTING = """
import sys
from fisk_ai.config import Config
from fisk_ai.toolkit.builtin.assemble import build

def loaded():
    return [name for name in ("encode", "read_file")
            if f"fisk_ai.toolkit.builtin.{name}" in sys.modules]

def of(entries):
    build(Config.model_validate({"harness": {"tools": entries}}), memory=None)
    return loaded()

print(of([]), of([{"name": "read_file"}]))
"""


def test_a_listed_tool_is_loaded_when_it_is_listed() -> None:
    done = subprocess.run([sys.executable, "-c", _LISTING], capture_output=True, check=True)
    assert done.stdout.decode() == "[] ['read_file']\n"


def test_an_entry_can_ask_a_person_before_each_call() -> None:
    entries = [{"name": "base64_encode", "confirm": True}, {"name": "read_file"}]
    encode, read = of({"tools": entries}).tools
    assert isinstance(encode, Confirmable)
    assert isinstance(read, Confirmable)
    assert encode.needs_confirm([])
    assert not read.needs_confirm(["ai:confirm"])
    assert encode.trace_line(b'{"text":"a secret"}') == "base64_encode 'a secret'"


@pytest.mark.parametrize("configured", [True, False])
async def test_files_are_read_below_the_root_directory_else_below_the_base(
    tmp_path: Path, *, configured: bool
) -> None:
    for name in ("root", "base"):
        (tmp_path / name / "docs").mkdir(parents=True)
        (tmp_path / name / "docs" / "note").write_text(name, encoding="utf-8")
    harness = {"tools": [{"name": "read_file", "options": {"root": "docs"}}]}
    written = {"harness": harness, "root_directory": str(tmp_path / "root") if configured else ""}
    config = Config.model_validate(written)
    (read,) = build(config, memory=None, base=tmp_path / "base").tools
    outcome = await read.execute(CallContext(), b'{"path":"note"}', ExecDeps())
    assert f'"content":"{"root" if configured else "base"}"' in outcome.output


async def test_a_text_is_encoded_as_utf_8(tmp_path: Path) -> None:
    (encode,) = of({"tools": [{"name": "base64_encode"}]}).tools
    for raw, encoded in (
        (b'{"text":"h\\u00e9"}', "aMOp"),
        (b'{"text":""}', ""),
        (b'{"text":"\\ud83d"}', "77+9"),
    ):
        outcome = await encode.execute(CallContext(), raw, ExecDeps())
        assert outcome.output == f'{{"encoded":"{encoded}"}}'
    with pytest.raises(ToolError, match="invalid base64_encode input"):
        await encode.execute(CallContext(), b'{"text":1}', ExecDeps())
