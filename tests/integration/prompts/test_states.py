"""What each kind of request gets from a conversation in each of its states."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypedDict

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.errors import NotFoundError
from fisk_ai.llm.model import Response
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.prompts import (
    ASKS,
    GATED,
    Bench,
    Serving,
    absent,
    answer,
    code_of,
    model,
    names,
    person,
    prompt,
    read,
    resume,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

BRIEF: dict[str, object] = {"elicit": True, "elicit_max": "50ms"}


class Changes(TypedDict, total=False):
    """What a configuration says differently."""

    llm: object
    system_prompt: str


SPARE: Changes = {"llm": {"model": "m", "budget": {"max_tokens": 1}}}
CONFIRM = ("u1", "ask_human_confirm", b'{"question":"Go?"}')
YES = m.Answer(tool_use_id="u1", kind="confirm", confirmed=True)
ALLOWED = m.Answer(tool_use_id="u1", kind="approve", choice="once")


@dataclass(frozen=True, slots=True)
class Stood:
    """A conversation in some state, and the model that would go on with it."""

    token: str
    model: ScriptedProvider


async def served(bench: Bench, *answers: Response, changes: Changes | None = None) -> Serving:
    tools = [FakeTool(name="node_rm", own_tags=GATED), FakeTool(name="ls")]
    return await bench.serve(
        model(*answers), tools=tools, prompts=BRIEF, harness=ASKS, **(changes or {})
    )


async def opened(
    bench: Bench, *answers: Response, code: str = "", changes: Changes | None = None
) -> Stood:
    """Open a conversation, nobody answering, that ends its first turn with ``code``."""
    serving = await served(bench, *answers, changes=changes)
    caller = absent()
    end = await bench.client().run(prompt("first"), caller)
    assert code_of(end) == code
    return Stood(caller.token, serving.model)


async def none(bench: Bench) -> Stood:
    return Stood("T9", (await served(bench)).model)


async def completed(bench: Bench) -> Stood:
    return await opened(bench, say("one"))


async def suspended(bench: Bench) -> Stood:
    return await opened(bench, call(("u1", "node_rm")), code="suspended")


async def deferred(bench: Bench) -> Stood:
    return await opened(bench, call(CONFIRM), code="deferred")


async def deferred_twice(bench: Bench) -> Stood:
    second = ("u2", *CONFIRM[1:])
    return await opened(bench, call(CONFIRM, second), code="deferred")


async def spent(bench: Bench) -> Stood:
    return await opened(bench, call(("u1", "ls")), code="budget_exhausted", changes=SPARE)


def changed(before: Callable[[Bench], Awaitable[Stood]]) -> Callable[[Bench], Awaitable[Stood]]:
    """Return the state ``before`` behind a change of the configuration."""

    async def drifted(bench: Bench) -> Stood:
        stood = await before(bench)
        (old,) = bench.started
        await old.server.release()
        await old.ended()
        serving = await served(bench, changes={"system_prompt": "be long"})
        return Stood(stood.token, serving.model)

    return drifted


suspended_and_changed = changed(suspended)
deferred_and_changed = changed(deferred)

STATES = [
    (none, "prompt", "unknown_conversation"),
    (none, "approve", "unknown_conversation"),
    (none, "confirm", "unknown_conversation"),
    (none, "resume", "unknown_conversation"),
    (none, "read", "unknown_conversation"),
    (completed, "prompt", ""),
    (completed, "approve", "failed"),
    (completed, "confirm", "failed"),
    (completed, "resume", "failed"),
    (completed, "read", ""),
    (suspended, "prompt", ""),
    (suspended, "prompt to nobody", "turn_not_taken"),
    (suspended, "approve", ""),
    (suspended, "confirm", "unknown_call"),
    (suspended, "resume", ""),
    (suspended, "resume to nobody", "suspended"),
    (suspended, "read", ""),
    (deferred, "prompt", "turn_not_taken"),
    (deferred, "approve", "deferred"),
    (deferred, "confirm", ""),
    (deferred, "resume", "deferred"),
    (deferred, "read", ""),
    (deferred_twice, "confirm", "deferred"),
    (spent, "prompt", "budget_exhausted"),
    (spent, "approve", "budget_exhausted"),
    (spent, "resume", "budget_exhausted"),
    (spent, "read", ""),
    (deferred, "confirm on a budget", "budget_exhausted"),
    (suspended_and_changed, "prompt", "config_drift"),
    (suspended_and_changed, "approve", "config_drift"),
    (suspended_and_changed, "resume", "config_drift"),
    (suspended_and_changed, "read", ""),
    (suspended_and_changed, "prompt by force", ""),
    (suspended_and_changed, "approve by force", ""),
    (suspended_and_changed, "resume by force", ""),
    (deferred_and_changed, "confirm", "config_drift"),
    (deferred_and_changed, "confirm by force", ""),
]
UNTOUCHED = ("unknown_conversation", "unknown_call", "failed", "config_drift")


def request_of(how: str, token: str) -> m.AnyRequest:
    kind, force = how.split(maxsplit=1)[0], how.endswith("by force")
    if kind == "prompt":
        return prompt("more", token=token, force=force)
    if kind == "resume":
        return resume(token, force=force)
    if kind == "read":
        return read(token)
    budget = m.Budget(max_tokens=1) if how.endswith("on a budget") else m.Budget()
    given = ALLOWED if kind == "approve" else YES
    return answer(token, given, force=force, budget=budget)


async def sequence(bench: Bench, token: str) -> int:
    """Return the number of the newest record, 0 without a session."""
    try:
        return (await bench.store.load(session_id_for_token("billing", token))).last_seq
    except NotFoundError:
        return 0


@pytest.mark.parametrize(
    ("state", "how", "code"),
    [pytest.param(*row, id=f"{row[0].__name__}-{row[1]}") for row in STATES],
)
async def test_a_request_gets_what_the_state_of_its_conversation_allows(
    bench: Bench, state: Callable[[Bench], Awaitable[Stood]], how: str, code: str
) -> None:
    stood = await state(bench)
    stood.model.queue(say("The old work is done."), say("And the new."))
    before = await sequence(bench, stood.token)
    caller = absent() if how.endswith("nobody") else person("once")
    end = await bench.client().run(request_of(how, stood.token), caller)
    assert code_of(end) == code
    if code in UNTOUCHED or how == "read":
        assert await sequence(bench, stood.token) == before
    if how == "read" and not code:
        assert names(caller.blocks)[:2] == ["Status", "Prompt"]


async def test_a_prompt_without_a_token_opens_a_conversation(bench: Bench) -> None:
    stood = await opened(bench, say("one"))
    assert await sequence(bench, stood.token) > 0


async def test_a_spent_conversation_stays_spent_and_its_journal_ends(bench: Bench) -> None:
    stood = await spent(bench)
    for _ in range(2):
        end = await bench.client().run(prompt("more", token=stood.token), RecordingCaller())
        assert code_of(end) == "budget_exhausted"
    assert len(stood.model.requests) == 1


async def test_a_prompt_that_was_not_taken_can_be_sent_again_once_the_old_work_is_settled(
    bench: Bench,
) -> None:
    stood = await deferred(bench)
    stood.model.queue(say("The old work is done."), say("And the new."))
    client = bench.client()
    refused = await client.run(prompt("more", token=stood.token), RecordingCaller())
    assert (code_of(refused), refused.terminal.stop_reason) == ("turn_not_taken", "suspended")
    assert code_of(await client.run(answer(stood.token, YES), RecordingCaller())) == ""
    assert code_of(await client.run(prompt("more", token=stood.token), RecordingCaller())) == ""
    last = stood.model.requests[-1].messages[-1]
    assert (last.role, "more" in repr(last)) == ("user", True)
