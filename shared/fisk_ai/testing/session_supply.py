"""What every session store promises of what arrives from outside; part of ``session_store``.

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import pytest

from fisk_ai.errors import AlreadyAnsweredError, NotDeferredError
from fisk_ai.sessions import supply
from fisk_ai.sessions.records import CallApproval, Deferred
from fisk_ai.sessions.store import Store
from fisk_ai.testing.session_records import assistant, result, terminal, write


async def an_answer_from_outside_is_one_record(store: Store) -> None:
    """The deferred call is answered once, and the session is one that any run takes."""
    deferred = Deferred(tool_use_id="a", tool_name="ask")
    await write(store, "one", assistant("a", "b"), deferred, result("b"), terminal("suspended"))
    await supply.supply(store, "one", "a", "red")
    with pytest.raises(AlreadyAnsweredError):
        await supply.supply(store, "one", "a", "blue")
    with pytest.raises(NotDeferredError):
        await supply.supply(store, "one", "c", "red")
    state = await store.load("one")
    assert (state.last_seq, state.pending, state.open_deferrals) == (6, None, ())
    handle = await store.open("one")
    assert handle.last_seq() == 6
    await handle.close()


async def a_decision_from_outside_waits_for_the_next_run(store: Store) -> None:
    """An approval is kept as it was given, a declined call has its result."""
    await write(store, "one", assistant("a", "b"), terminal("suspended"))
    approval = CallApproval(tool_use_id="a", tool_name="say", args_sha256="0" * 64)
    await supply.approve(store, "one", approval)
    await supply.decline(store, "one", "b", "no")
    state = await store.load("one")
    assert state.one_shot_approvals == {"a": approval}
    assert state.pending is not None
    assert state.pending.answered == {"b"}
    for late in (supply.decline(store, "one", "b", "no"), supply.supply(store, "one", "b", "no")):
        with pytest.raises((AlreadyAnsweredError, NotDeferredError)):
            await late
    assert (await store.load("one")).last_seq == 5


CHECKS = (
    an_answer_from_outside_is_one_record,
    a_decision_from_outside_waits_for_the_next_run,
)
"""Every check; each is given a store of its own that holds nothing."""
