"""What pydantic lets others do: they are kept away from configurations, and from nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_LOADED = """
import sys
from pathlib import Path
from fisk_ai.config import Mode, loads

sys.path.insert(0, sys.argv[1])
config = loads("expose: {agent: {a2a: {prompts: {}}}}", Mode.LENIENT, source=Path("agent.yaml"))
config.hosted()
assert "nosy" not in sys.modules, "a plugin was loaded"

from pydantic import TypeAdapter
TypeAdapter(int)
assert "nosy" in sys.modules, "a plugin of this kind is none"
"""


def test_no_plugin_of_pydantic_sees_a_configuration(tmp_path: Path) -> None:
    described = tmp_path / "nosy-1.dist-info"
    described.mkdir()
    described.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1\n")
    described.joinpath("entry_points.txt").write_text("[pydantic]\nnosy = nosy:plugin\n")
    tmp_path.joinpath("nosy.py").write_text(
        "class plugin:\n"
        "    @staticmethod\n"
        "    def new_schema_validator(*of, **named):\n"
        "        return None, None, None\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(tmp_path)], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
