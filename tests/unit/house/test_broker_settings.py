"""Every broker configuration of the project holds what its promises rest on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OURS = ROOT / "shared/fisk_ai/bus/server_config.py"
"""What those that the program writes have in common."""

PLACES = ("shared", "services", "deploy", "docs", "examples", "scripts")
NEEDED = {
    r'ping_interval: "10s"': "a frozen worker would hold back its share of the work for minutes",
    r"ping_max: 2\b": "the same",
    r"max_payload: ": "a broker's default is smaller than the largest message with its headers",
}
SYNCED = "sync_interval: always"
"""Where anything is stored, an ack means that it is on disk."""


def configurations() -> list[Path]:
    """Files that hold a server's configuration: only those say how clients log in."""
    pattern = re.compile(r"^\s*authorization[ :]*\{+", re.MULTILINE)
    files = (path for place in PLACES for path in sorted((ROOT / place).rglob("*")))
    readable = (path for path in files if path.is_file() and path.suffix != ".pyc")
    return [path for path in readable if pattern.search(path.read_text("utf-8", "ignore"))]


def text_of(file: Path) -> str:
    """Return what a configuration is put together from."""
    text = file.read_text(encoding="utf-8")
    shared = OURS.read_text(encoding="utf-8") if "server_config.SETTINGS" in text else ""
    return text + shared


def test_there_is_a_broker_configuration() -> None:
    assert {ROOT / "shared/fisk_ai/bus/broker.py", OURS} <= set(configurations())


@pytest.mark.parametrize("file", configurations(), ids=lambda path: path.name)
def test_every_broker_configuration_holds_what_promises_rest_on(file: Path) -> None:
    text = text_of(file)
    for pattern, otherwise in NEEDED.items():
        assert re.search(pattern, text), otherwise
    for line in re.findall(r"jetstream \{.*", text):
        assert SYNCED in line
