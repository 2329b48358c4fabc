"""The built wheel holds every package and works in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"fisk_ai", "agent_worker", "slack_gateway", "mcp_gateway", "knowledge_indexer"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


def pinned(name: str) -> list[str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)


def with_dependencies(name: str, found: set[str]) -> set[str]:
    if name in found:
        return found
    found.add(name)
    for line in metadata.distribution(name).requires or ():
        if ";" in line:
            continue
        match = re.match(r"[A-Za-z0-9._-]+", line)
        assert match is not None
        with_dependencies(match[0], found)
    return found


def link_distribution(name: str, site: Path, scripts: Path) -> None:
    """Give the clean environment one installed distribution, file by file."""
    source_scripts = Path(sysconfig.get_path("scripts")).resolve()
    for entry in metadata.distribution(name).files or ():
        source = Path(str(entry.locate())).resolve()
        if source.parent == source_scripts:
            target = scripts / source.name
        elif entry.parts[0] != "..":
            target = site.joinpath(*entry.parts)
        else:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.exists() and not target.exists():
            target.symlink_to(source)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean_bin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the product's pins, the wheel, and the example's own library."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*")) / "site-packages"
    installed = {item.name.lower().replace("_", "-") for item in metadata.distributions()}
    names = {name for name in pinned("base.txt") if name in installed}
    for name in names | with_dependencies("typer", set()):
        link_distribution(name, site, home / "bin")
    command = [sys.executable, "-m", "pip", "--python", str(home), "install", "--quiet"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel)],
        check=True,
        capture_output=True,
    )
    return home / "bin"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.defpath, "HOME": str(cwd), "XDG_STATE_HOME": str(cwd / "state")}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_wheel_holds_every_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if name.endswith("/__init__.py")} >= PACKAGES
    assert "fisk_ai/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


def test_the_wheel_holds_the_published_schemas(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = [path for path in (ROOT / "shared").rglob("schemas") if path.is_dir()]
    written = [path.relative_to(ROOT / "shared") for at in folders for path in at.glob("*.json")]
    assert len(written) > 20
    assert {path.as_posix() for path in written} <= names


def test_help_works_from_the_wheel_alone(clean_bin: Path, tmp_path: Path) -> None:
    done = run(clean_bin / "fisk-ai", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


def test_the_demo_answers_from_the_wheel_alone(clean_bin: Path, tmp_path: Path) -> None:
    example = ROOT / "examples" / "cowsay"
    done = run(
        clean_bin / "fisk-ai",
        "run",
        "--config",
        example / "agent.yaml",
        "--script",
        example / "script.yaml",
        "tell me a joke",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "-> " in done.stderr
