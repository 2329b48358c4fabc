"""A run a person sits at: turn after turn, a new conversation, and how they leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.agent.events import Starting
from fisk_ai.agent.hooks import AtRunEnd, AtTurnEnd, Hooks, PromptVerdict, UserPrompt
from fisk_ai.agent.options import Checkpoint, NextPrompt
from fisk_ai.agent.prompt import RESUME_REMINDER
from fisk_ai.errors import (
    FiskError,
    LockedError,
    PromptAbortedError,
    ProviderError,
    RefusedError,
    StoreError,
)
from fisk_ai.llm.model import Message, Request, TextBlock, ToolResultBlock, Usage
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Decision, Meta, Payload, Terminal, User
from fisk_ai.sessions.store import Filter, Journal
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory

ANEW = NextPrompt(reset=True)


@pytest.fixture
def chat(bench: AgentBench) -> AgentBench:
    bench.tools = [FakeTool(name="look", output="seen")]
    return bench


def texts(request: Request) -> list[str]:
    """Return what was said in a request, prose alone."""
    return [
        block.text
        for message in request.messages
        for block in message.content
        if isinstance(block, TextBlock)
    ]


def vetting(verdict: Callable[[UserPrompt], PromptVerdict | None]) -> Hooks:
    async def submit(prompt: UserPrompt) -> PromptVerdict | None:
        return verdict(prompt)

    return Hooks(user_prompt_submit=submit)


async def test_a_person_goes_on_until_they_leave(chat: AgentBench) -> None:
    result, error = await chat.converse(["and now?", "and then?"], *map(say, "abc"))
    assert (result.reason, result.text, error) == ("suspended", "c", None)
    assert texts(chat.model.requests[-1]) == ["go", "a", "and now?", "b", "and then?"]
    assert await chat.kinds() == [
        *("Meta", "Assistant", "User", "Assistant", "User", "Assistant", "Terminal")
    ]
    meta = (await chat.payloads())[0]
    assert isinstance(meta, Meta)
    assert meta.interactive


async def test_leaving_an_unrecorded_conversation_completes_it(chat: AgentBench) -> None:
    result, _ = await chat.converse(["more"], say("a"), say("b"), checkpoint=None)
    assert (result.reason, result.text) == ("completed", "b")


async def test_a_prompt_is_recorded_before_the_model_sees_it(chat: AgentBench) -> None:
    await chat.converse(["more"], say("a"), ProviderError("busy"))
    kinds = await chat.kinds()
    assert kinds == ["Meta", "Assistant", "User", "Terminal"]


async def test_a_person_is_told_why_their_turn_gave_no_answer(chat: AgentBench) -> None:
    chat.configure(llm={"model": "m", "budget": {"max_iterations": 1}})
    result, _ = await chat.converse(
        ["more", "again"], call(("a", "look")), ProviderError("busy"), say("fine")
    )
    assert (result.reason, result.text) == ("suspended", "fine")
    assert chat.events.of(Advisory) == [
        Advisory(kind="max_iterations_interactive", count=1),
        Advisory(kind="turn_error_interactive", error="llm call: busy"),
    ]


async def test_a_prompt_behind_results_joins_them(chat: AgentBench) -> None:
    await chat.converse(["more"], call(("a", "look")), ProviderError("busy"), say("fine"))
    assert chat.model.requests[-1].messages[-1] == Message(
        "user", (ToolResultBlock("a", "seen"), TextBlock("more"))
    )


async def test_every_turn_has_its_own_allowance(chat: AgentBench) -> None:
    chat.configure(llm={"model": "m", "budget": {"max_iterations": 2}})
    turn = (call(("a", "look")), say("done"))
    result, _ = await chat.converse(["more", "more"], *turn, *turn, *turn)
    assert (result.reason, len(chat.model.requests)) == ("suspended", 6)
    assert chat.events.warnings() == []
    assert [request.iteration for request in chat.model.requests] == [0, 1, 2, 3, 4, 5]


async def test_blank_words_are_no_prompt(chat: AgentBench) -> None:
    await chat.converse([" \n", "more"], say("a"), say("b"))
    assert (await chat.kinds()).count("User") == 1


async def test_a_turn_that_parks_ends_the_conversation(chat: AgentBench) -> None:
    chat.tools = [FakeTool(name="remove", own_tags=("ai:confirm",))]
    chat.prompter = ScriptedPrompter([PromptAbortedError("gone")])
    result, error = await chat.converse(["never"], call(("a", "remove")))
    assert (result.reason, str(error)) == ("suspended", "gone")
    assert "User" not in await chat.kinds()


async def test_a_spent_budget_ends_the_conversation_before_the_prompt(chat: AgentBench) -> None:
    chat.configure(llm={"model": "m", "budget": {"max_tokens": 2}})
    result, error = await chat.converse(["more", "never"], say("a"))
    assert (result.reason, "llm.budget.max_tokens" in str(error)) == ("budget", True)
    assert "User" not in await chat.kinds()


async def test_a_person_who_went_away_leaves_the_conversation_parked(chat: AgentBench) -> None:
    async def gone() -> NextPrompt:
        raise PromptAbortedError("the terminal closed")

    result, error = await chat.converse([], say("a"), next_prompt=gone)
    assert (result.reason, error) == ("suspended", None)


async def test_a_person_who_cannot_be_asked_ends_the_run_in_error(chat: AgentBench) -> None:
    async def broken() -> NextPrompt:
        raise FiskError("the line is dead")

    result, error = await chat.converse([], say("a"), next_prompt=broken)
    assert (result.reason, str(error)) == ("error", "the line is dead")


async def test_a_request_to_park_is_heeded_before_a_prompt_is_asked_for(
    chat: AgentBench,
) -> None:
    result, _ = await chat.converse(
        ["never"], say("a"), suspend_requested=lambda: bool(chat.model.requests)
    )
    assert (result.reason, len(chat.model.requests)) == ("suspended", 1)
    assert "User" not in await chat.kinds()


async def test_a_boundary_is_told_once_with_its_reason(chat: AgentBench) -> None:
    seen: list[AtTurnEnd] = []
    submissions: list[str] = []

    async def at_end(event: AtTurnEnd) -> None:
        seen.append(event)

    async def submit(prompt: UserPrompt) -> PromptVerdict:
        submissions.append(prompt.text)
        return PromptVerdict(deny=prompt.text == "bad")

    hooks = Hooks(turn_end=at_end, user_prompt_submit=submit)
    await chat.converse(["bad", "more"], say("a"), ProviderError("busy"), hooks=hooks)
    assert seen == [
        AtTurnEnd(reason="completed", iteration=1),
        AtTurnEnd(reason="error", iteration=2),
    ]
    assert submissions == ["go", "bad", "more"]


async def test_a_failing_boundary_hook_ends_the_run(chat: AgentBench) -> None:
    async def refuse(event: AtTurnEnd) -> None:
        raise FiskError("enough")

    result, error = await chat.converse(["never"], say("a"), hooks=Hooks(turn_end=refuse))
    assert (result.reason, str(error)) == ("error", "turn_end hook: enough")


async def test_a_denied_prompt_changes_nothing_and_is_asked_for_again(chat: AgentBench) -> None:
    hooks = vetting(lambda prompt: PromptVerdict(deny="secret" in prompt.text, reason="no keys"))
    result, _ = await chat.converse(
        [NextPrompt(text="a secret", reset=True), "more"],
        ProviderError("busy"),
        say("b"),
        hooks=hooks,
    )
    assert (result.reason, result.session_id) == ("suspended", "bench")
    assert chat.events.of(Advisory) == [
        Advisory(kind="turn_error_interactive", error="llm call: busy"),
        Advisory(kind="prompt_denied", name="no keys"),
    ]
    assert texts(chat.model.requests[-1]) == ["go", "more"]


async def test_a_rewritten_prompt_is_recorded_as_rewritten(chat: AgentBench) -> None:
    hooks = vetting(lambda prompt: None if prompt.initial else PromptVerdict(rewrite="clean"))
    await chat.converse(["a secret"], say("a"), say("b"), hooks=hooks)
    (user,) = (item for item in await chat.payloads() if isinstance(item, User))
    assert user.message.content == (TextBlock("clean"),)


async def test_a_failing_prompt_hook_ends_the_conversation(chat: AgentBench) -> None:
    async def submit(prompt: UserPrompt) -> None:
        if not prompt.initial:
            raise FiskError("out of order")

    result, error = await chat.converse(
        ["more", "never"], say("a"), hooks=Hooks(user_prompt_submit=submit)
    )
    assert (result.reason, str(error)) == ("error", "user_prompt_submit hook: out of order")


async def test_a_hook_that_stops_a_call_ends_the_conversation(chat: AgentBench) -> None:
    async def stop(event: object) -> None:
        raise FiskError("stop")

    result, _ = await chat.converse(["never"], call(("a", "look")), hooks=Hooks(pre_tool_use=stop))
    assert (result.reason, len(chat.model.requests)) == ("error", 1)
    assert "User" not in await chat.kinds()


async def test_calls_of_a_truncated_reply_are_answered_before_the_next_prompt(
    chat: AgentBench,
) -> None:
    cut = call(("a", "look"), stop_reason="max_tokens")
    await chat.converse(["more"], cut, say("fine"))
    assert chat.model.requests[-1].messages[-1].content == (
        ToolResultBlock("a", "not run: the reply was cut off", is_error=True),
        TextBlock("more"),
    )


async def test_a_prompt_that_cannot_be_recorded_ends_the_run(chat: AgentBench, runs: Path) -> None:
    chat.store = Refusing(runs, User)
    result, error = await chat.converse(["more", "never"], say("a"))
    assert (result.reason, str(error)) == ("error", "journaling run: the disk is full")
    assert chat.events.warnings()[0] == "journal_user"
    assert len(chat.model.requests) == 1


async def test_a_resumed_conversation_reopens_its_input(chat: AgentBench) -> None:
    await chat.converse([], say("a"))
    result, _ = await chat.converse(["more"], say("b"))
    assert (result.reason, result.text) == ("suspended", "b")
    assert texts(chat.model.requests[0]) == ["go", "a", "more"]
    assert RESUME_REMINDER in chat.model.requests[0].system_blocks


async def test_a_resumed_conversation_whose_reply_was_cut_reopens_its_input(
    chat: AgentBench,
) -> None:
    await chat.converse([], say("a", stop_reason="max_tokens"))
    result, error = await chat.converse([])
    assert (result.reason, error, chat.model.requests) == ("suspended", None, [])
    assert chat.events.warnings() == []


async def test_an_interrupted_turn_is_finished_when_its_conversation_resumes(
    chat: AgentBench,
) -> None:
    await chat.converse([], call(("a", "look")), ProviderError("busy"))
    chat.configure(llm={"model": "m", "budget": {"max_iterations": 1}})
    result, _ = await chat.converse([], say("done"))
    assert (result.reason, result.text) == ("suspended", "done")


@pytest.mark.parametrize("interactive", [True, False])
async def test_a_session_is_resumed_by_its_own_kind_of_run_alone(
    chat: AgentBench, *, interactive: bool
) -> None:
    if interactive:
        await chat.run(ProviderError("busy"))
        _, error = await chat.converse([], checkpoint=Checkpoint(resume_id="bench"))
    else:
        await chat.converse([], say("a"))
        _, error = await chat.resume()
    assert isinstance(error, RefusedError)
    assert "interactive" in str(error)
    assert "Claim" not in await chat.kinds()


async def test_a_person_at_the_run_lets_the_cache_live_longer(chat: AgentBench) -> None:
    await chat.converse([], say("a"))
    assert chat.model.requests[0].interactive


async def new_session(chat: AgentBench) -> str:
    """Return the session that is not the bench's."""
    (found,) = [
        row.run_id for row in await chat.store.list(Filter()) if row.run_id != chat.session_id
    ]
    return found


async def test_beginning_anew_parks_the_session_and_opens_another(chat: AgentBench) -> None:
    checkpoint = Checkpoint(
        resume_id="bench", create_if_missing=True, caller="ann", conversation_token="secret"
    )
    result, _ = await chat.converse(
        [NextPrompt(text="fresh", reset=True)], say("a"), say("b"), checkpoint=checkpoint
    )
    session = await new_session(chat)
    assert (result.session_id, result.reason, result.text) == (session, "suspended", "b")
    assert texts(chat.model.requests[-1]) == ["fresh"]
    assert (await chat.payloads())[-1] == Terminal(reason="suspended")
    state = await chat.store.load(session)
    meta, old = state.meta, (await chat.payloads())[0]
    assert isinstance(old, Meta)
    assert (meta.prompt, meta.interactive, meta.caller) == ("fresh", True, "ann")
    assert (meta.conversation_token, meta.agent) == ("", "tester")
    assert meta.fingerprint == old.fingerprint
    kinds = [type(record.payload).__name__ for record in await chat.store.records(session)]
    assert kinds == ["Meta", "Assistant", "Terminal"]


async def test_a_new_session_is_told_with_the_one_it_leaves(chat: AgentBench) -> None:
    await chat.converse([NextPrompt(text="fresh", reset=True)], say("a"), say("b"))
    rotated = [event for event in chat.events.recorded if event.name == "session_rotated"]
    assert [event.payload for event in rotated] == ["bench"]
    assert chat.events.names().index("session_rotated") < len(chat.events.names()) - 1


async def test_beginning_anew_waits_for_the_words_that_do_it(chat: AgentBench) -> None:
    await chat.converse([ANEW], say("a"))
    assert len(await chat.store.list(Filter())) == 1
    await chat.converse([ANEW, "fresh"], say("b"))
    assert texts(chat.model.requests[-1]) == ["fresh"]


async def test_the_caller_of_a_resumed_session_is_the_new_ones(chat: AgentBench) -> None:
    checkpoint = Checkpoint(resume_id="bench", create_if_missing=True, caller="ann")
    await chat.converse([], say("a"), checkpoint=checkpoint)
    await chat.converse([ANEW, "fresh"], say("b"))
    state = await chat.store.load(await new_session(chat))
    assert state.meta.caller == "ann"


async def test_grants_end_with_the_conversation_they_were_given_in(chat: AgentBench) -> None:
    tool = FakeTool(name="remove", own_tags=("ai:confirm",))
    chat.tools, chat.prompter = [tool], ScriptedPrompter(["always", "no"])
    await chat.converse(
        [ANEW, "fresh"],
        *(call(("a", "remove")), say("a"), call(("b", "remove")), say("b")),
    )
    assert len(chat.prompter.approvals) == 2
    records = await chat.store.records(await new_session(chat))
    assert not any(isinstance(record.payload, Decision) for record in records)


async def test_a_new_conversation_counts_its_own_budget_and_calls(chat: AgentBench) -> None:
    spends = Usage(input=3, output=2)
    chat.configure(llm={"model": "m", "budget": {"max_tokens": 6}})
    result, _ = await chat.converse(
        [ANEW, "fresh", "more", "never"],
        say("a", usage=Usage(input=6)),
        say("b", usage=spends),
        say("c", usage=spends),
    )
    assert (result.reason, result.text) == ("budget", "c")
    assert result.stats is not None
    assert (result.stats.llm_calls, result.stats.usage.input) == (3, 12)
    assert [request.iteration for request in chat.model.requests] == [0, 0, 1]


async def test_an_unrecorded_conversation_is_forgotten_but_not_its_tokens(
    chat: AgentBench,
) -> None:
    chat.configure(llm={"model": "m", "budget": {"max_tokens": 6}})
    result, _ = await chat.converse(
        [ANEW, "fresh", "more"], say("a", usage=Usage(input=6)), say("b"), checkpoint=None
    )
    assert (result.reason, result.text) == ("budget", "b")
    assert texts(chat.model.requests[-1]) == ["fresh"]
    assert "session_rotated" not in chat.events.names()


async def test_a_resumed_conversation_that_begins_anew_is_not_called_resumed(
    chat: AgentBench,
) -> None:
    await chat.converse([], say("a"))
    await chat.converse([ANEW, "fresh"], say("b"))
    assert RESUME_REMINDER not in chat.model.requests[-1].system_blocks


async def test_a_session_that_cannot_be_created_leaves_the_person_in_the_old_one(
    chat: AgentBench, runs: Path
) -> None:
    chat.store = Full(runs)
    result, _ = await chat.converse([NextPrompt(text="fresh", reset=True)], say("a"), say("b"))
    assert (result.session_id, result.reason, result.text) == ("bench", "suspended", "b")
    assert chat.events.of(Advisory) == [Advisory(kind="session_rotate", error="the disk is full")]
    assert texts(chat.model.requests[-1]) == ["go", "a", "fresh"]
    assert "User" in await chat.kinds()


async def test_both_sessions_can_be_resumed_after_a_rotation(chat: AgentBench) -> None:
    await chat.converse([ANEW, "fresh"], say("a"), say("b"))
    session = await new_session(chat)
    old, _ = await chat.converse(["back"], say("c"))
    checkpoint = Checkpoint(resume_id=session)
    new, _ = await chat.converse(["on"], say("d"), checkpoint=checkpoint)
    assert (old.text, new.text) == ("c", "d")
    assert texts(chat.model.requests[-1]) == ["fresh", "b", "on"]
    (starting,) = chat.events.of(Starting)
    assert starting.session_id == session


async def test_the_old_session_is_free_once_it_was_left(chat: AgentBench) -> None:
    held: dict[bool, bool] = {}

    async def next_prompt() -> NextPrompt:
        if len(chat.model.requests) == 1:
            return NextPrompt(text="fresh", reset=True)
        for row in await chat.store.list(Filter()):
            held[row.run_id == "bench"] = await is_held(chat, row.run_id)
        return NextPrompt(go_on=False)

    await chat.converse([], say("a"), say("b"), next_prompt=next_prompt)
    assert held == {True: False, False: True}


async def is_held(chat: AgentBench, session: str) -> bool:
    try:
        await (await chat.store.open(session)).close()
    except LockedError:
        return True
    return False


async def test_the_last_hook_names_the_session_the_run_ended_in(chat: AgentBench) -> None:
    ends: list[AtRunEnd] = []

    async def keep(event: AtRunEnd) -> None:
        ends.append(event)

    result, _ = await chat.converse([ANEW, "fresh"], say("a"), say("b"), hooks=Hooks(run_end=keep))
    assert [end.session_id for end in ends] == [result.session_id]


class Refusing(FileStore):
    """Its journals refuse one kind of record."""

    def __init__(self, directory: Path, kind: type[object]) -> None:
        super().__init__(directory)
        self._kind = kind

    async def create(self, run_id: str, meta: Meta) -> Journal:  # pyright: ignore[reportIncompatibleMethodOverride] - a narrower journal is all the contract asks for
        journal = await super().create(run_id, meta)
        return _Refusing(journal, self._kind)


class _Refusing:
    def __init__(self, journal: Journal, kind: type[object]) -> None:
        self._journal = journal
        self._kind = kind
        self.last_seq = journal.last_seq
        self.records = journal.records
        self.check_held = journal.check_held
        self.close = journal.close

    async def append(self, seq: int, payload: Payload) -> None:
        if isinstance(payload, self._kind):
            raise StoreError("the disk is full")
        await self._journal.append(seq, payload)


class Full(FileStore):
    """Has room for one session."""

    async def create(self, run_id: str, meta: Meta) -> Journal:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        if await self.list(Filter()):
            raise StoreError("the disk is full")
        return await super().create(run_id, meta)
