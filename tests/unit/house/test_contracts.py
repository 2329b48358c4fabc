"""The import contracts hold, and each of them can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "fisk_ai": "shared",
    "agent_worker": "services",
    "slack_gateway": "services",
    "mcp_gateway": "services",
    "knowledge_indexer": "services",
}

# contract id -> (module to plant, the line that breaks the contract)
VIOLATIONS = {
    "layers": ("fisk_ai/text/planted.py", "import fisk_ai.agent.events"),
    "adapters": ("fisk_ai/adapters/planted.py", "import fisk_ai.text.sanitise"),
    "testing": ("fisk_ai/agent/planted.py", "import fisk_ai.testing"),
    "services-apart": ("mcp_gateway/planted.py", "import agent_worker"),
    "services-no-terminal": ("agent_worker/planted.py", "import fisk_ai.render"),
    "library-no-service": ("fisk_ai/agent/planted.py", "import agent_worker"),
    "owner-nats": ("fisk_ai/a2a/planted.py", "import nats"),
    "owner-anthropic": ("fisk_ai/agent/planted.py", "import anthropic"),
    "owner-slack": ("mcp_gateway/planted.py", "import slack_sdk"),
    "owner-mcp": ("slack_gateway/planted.py", "import mcp"),
    "owner-opentelemetry": ("fisk_ai/agent/planted.py", "import opentelemetry"),
    "owner-sqlite": ("fisk_ai/sessions/planted.py", "import apsw"),
    "owner-textual": ("fisk_ai/cli/planted.py", "import textual"),
    "core-knows-no-channel": ("fisk_ai/agent/planted.py", "import fisk_ai.serving.contract"),
    "toolkit-no-agent": ("fisk_ai/toolkit/planted.py", "import fisk_ai.agent.events"),
}


def lint(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--config", "pyproject.toml", *arguments],
        cwd=tree,
        env={"PYTHONPATH": str(tree), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for package, parent in PACKAGES.items():
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / parent / package, tree / package, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def configured_contracts() -> set[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = text.partition("[tool.importlinter]")[2].splitlines()
    return {line.split('"')[1] for line in lines if line.startswith("id = ")}


def test_the_tree_keeps_every_contract(pristine: Path) -> None:
    done = lint(pristine)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_has_a_planted_violation() -> None:
    assert configured_contracts() == set(VIOLATIONS)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("contract", sorted(VIOLATIONS))
def test_a_planted_violation_breaks_its_contract(pristine: Path, contract: str) -> None:
    module, line = VIOLATIONS[contract]
    planted = pristine / module
    planted.write_text(line + "\n", encoding="utf-8")
    try:
        done = lint(pristine, "--contract", contract)
    finally:
        planted.unlink()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "planted" in done.stdout
