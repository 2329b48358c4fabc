"""The page about permissions shows the configuration that the tests beside this one run with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fisk_ai.testing.roles import Printed, RoleFleet

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/nats-permissions.md"


def shown(title: str) -> str:
    block = rf"^```\w+ title={title}\n(.*?)^```$"
    found = re.search(block, PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_shows_what_is_printed_for_its_agent(prints: Callable[[str], Printed]) -> None:
    assert shown("nats.conf") == prints(shown("agent.yaml")).text


def test_the_broker_of_these_tests_is_that_of_the_page(bare: RoleFleet) -> None:
    assert bare.printed.text == shown("nats.conf")
