"""The two lists of built-in tools that may be served, which cannot see one another, agree."""

from __future__ import annotations

from pathlib import Path

from fisk_ai.config import Config
from fisk_ai.config.expose_rules import SERVED_BUILTINS
from fisk_ai.memory.file import FileMemory
from fisk_ai.toolkit.builtin.assemble import build


def test_the_configuration_lets_exactly_those_tools_be_served_that_say_they_may_be(
    tmp_path: Path,
) -> None:
    harness = {
        "human_in_the_loop": {"enabled": True},
        "memory": {"enabled": True},
        "tools": [{"name": "read_file"}, {"name": "base64_encode"}],
    }
    config = Config.model_validate({"llm": {"model": "m"}, "harness": harness})
    tools = build(config, memory=FileMemory(tmp_path / "memory"), base=tmp_path).tools
    served = {tool.name for tool in tools if tool.mcp_exposable}
    listed = {name: feature for name, (feature, _) in SERVED_BUILTINS.items()}
    later = {name for name, feature in listed.items() if feature.startswith("knowledge")}
    assert served == set(listed) - later
    assert not later & {tool.name for tool in tools}
