from __future__ import annotations

import pytest

from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.fold import in_doubt
from fisk_ai.sessions.records import CallApproval, Deferred, Payload, ToolResult
from fisk_ai.testing.session_records import assistant, claim, journal, result, terminal, user

PARKED = terminal("suspended")
REPLY = assistant("a", "b", "c")
LATER = Deferred(tool_use_id="a", tool_name="say")
SUPPLIED = ToolResult(tool_use_id="a", result=ToolResultBlock("a", "yes"))


@pytest.mark.parametrize(
    ("payloads", "call"),
    [
        pytest.param((), None, id="a run that asked for nothing"),
        pytest.param((REPLY,), "a", id="died before or in the first call"),
        pytest.param((REPLY, result("a")), "b", id="died in the second call"),
        pytest.param((REPLY, LATER), "b", id="the deferred call is not run again anyway"),
        pytest.param((REPLY, result("c"), result("b")), "a", id="the first that is open"),
        pytest.param((REPLY, *map(result, "abc")), None, id="all answered"),
        pytest.param((REPLY, result("a"), PARKED), None, id="parked cleanly"),
        pytest.param((REPLY, terminal("error")), None, id="failed cleanly"),
        pytest.param((REPLY, PARKED, claim()), "a", id="died after it took a parked run"),
        pytest.param((REPLY, claim(), PARKED), "a", id="doubt outlives a clean resume"),
        pytest.param((REPLY, claim(), PARKED, claim(), PARKED), "a", id="through two resumes"),
        pytest.param((REPLY, claim(), result("a"), PARKED), None, id="answered since"),
        pytest.param((REPLY, claim(), LATER, PARKED), None, id="deferred since"),
        pytest.param((REPLY, claim(), PARKED, SUPPLIED), None, id="answered from outside"),
        pytest.param((REPLY, PARKED, SUPPLIED), None, id="an answer takes no batch"),
        pytest.param(
            (REPLY, PARKED, CallApproval(tool_use_id="a", tool_name="say")),
            None,
            id="an approval takes no batch",
        ),
        pytest.param((REPLY, user("never mind")), None, id="the turn was closed"),
        pytest.param((REPLY, assistant("d")), "d", id="only the last turn"),
        pytest.param((REPLY, claim(), result("a"), claim()), "b", id="two died, two calls"),
        pytest.param((assistant(say="hi"), PARKED, claim()), None, id="nothing to run"),
    ],
)
def test_the_call_in_doubt_is_the_one_a_dead_process_may_have_started(
    payloads: tuple[Payload, ...], call: str | None
) -> None:
    assert in_doubt(journal(*payloads)) == call
