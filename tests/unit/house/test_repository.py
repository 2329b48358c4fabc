"""What the repository may and may not hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return dict(PIN.findall(text))


@pytest.mark.parametrize("name", ["base.txt", "dev.txt"])
def test_pins_hold_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_development_pins_hold_the_same_versions_as_the_product_pins() -> None:
    development = pins("dev.txt")
    product = pins("base.txt")
    assert product
    assert {name: development.get(name) for name in product} == product


@pytest.mark.parametrize("service", ["slack_gateway", "mcp_gateway", "knowledge_indexer"])
def test_a_service_of_a_later_release_refuses_to_start_in_one_sentence(service: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", service], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"{service}: error: ")
    assert "not built yet" in done.stderr
    assert len(done.stderr.splitlines()) == 1
