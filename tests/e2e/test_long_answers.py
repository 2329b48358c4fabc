"""An answer that does not fit a message comes out whole all the same."""

from __future__ import annotations

import pytest

from fisk_ai.testing.command import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def test_an_answer_longer_than_any_message_is_printed_whole(agent: Agent) -> None:
    # Each quotation mark takes two bytes in a message and one in the script, which is bounded too.
    answer = " ".join(f'{number}""""""""' for number in range(65_000))
    agent.script(f"{{say: '{answer}'}}")
    done = agent.rehearse("go")
    assert done.status == 0
    assert done.out == f"{answer}\n"
