"""What becomes of a turn that does not go straight through, rule by rule."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from agent_worker.channels.turns import TurnsChannel
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import dead, headers, publishing
from fisk_ai.a2a.durable.reading import ReadSet
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.bus.jetstream import MESSAGE_ID
from fisk_ai.errors import ProtocolError
from fisk_ai.serving.contract import Outcome
from fisk_ai.sessions.records import Claim, Meta
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import provision
from fisk_ai.testing.gateway import code_of, text_of
from fisk_ai.testing.prompts import ASKS, GATED, Hold, model
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.turns import IDENTITY, THREAD, Fleet, wishes

pytestmark = pytest.mark.integration

OTHER_THREAD = ("T1", "C1", "1712.0002")


def warnings(found: ReadSet) -> list[str]:
    events = (each.block for each in found.messages if isinstance(each, m.EventMessage))
    return [block.kind for block in events if isinstance(block, m.WarningBlockEvent)]


async def letters(fleet: Fleet) -> list[dead.DeadTurn]:
    return [letter async for letter in dead.letters(fleet.js, "FISK_AI_DEAD", IDENTITY)]


async def publish_raw(fleet: Fleet, body: bytes, found: dict[str, str]) -> None:
    await fleet.js.publish(subjects.turn(IDENTITY, "slack"), body, headers=found)


async def forget_replies(fleet: Fleet, turn: Turn) -> None:
    """Have a set look as if its terminal, and all of it, had never been stored."""
    await fleet.js.purge("FISK_AI_REPLY", turn.reply_subject)


async def publish_anew(fleet: Fleet, turn: Turn) -> None:
    """Publish an event again, behind the window in which the queue knows it."""
    while (await publishing.publish(fleet.js, turn)).duplicate:
        pass


async def begin_set(fleet: Fleet, turn: Turn, *, number: int) -> None:
    """Leave what a worker leaves that dies right behind its ack."""
    ack = m.Ack(**m.reply_header(turn.message, IDENTITY, 1), accepted=True)
    place = {
        **turn.place_headers(),
        headers.TRY: str(number),
        headers.JOURNAL: "0",
        MESSAGE_ID: ack.id,
    }
    await fleet.js.publish(turn.reply_subject, codec.encode(ack), headers=place)


@pytest.fixture
def turn(fleet: Fleet) -> Turn:
    return fleet.gateway.turn(THREAD, "slack:T1:C1:1", "go")


async def test_a_turn_that_has_its_terminal_is_acknowledged_and_nothing_else(
    fleet: Fleet, turn: Turn
) -> None:
    await fleet.gateway.publish(turn)
    terminal = m.Result(**m.reply_header(turn.message, IDENTITY, 1), stop_reason="end_turn")
    await fleet.js.publish(
        turn.reply_subject, codec.encode(terminal), headers={headers.FINAL: "true"}
    )
    worker = await fleet.serve(model(say("one")))
    await fleet.settled()
    assert worker.model.requests == []
    await fleet.gateway.catch_up(turn.thread_hash)
    assert len(fleet.gateway.replies_of(turn)) == 1


async def test_a_completed_turn_whose_replies_are_gone_is_told_from_its_session(
    fleet: Fleet, turn: Turn
) -> None:
    worker = await fleet.serve(model(say("one")))
    await fleet.gateway.publish(turn)
    await fleet.gateway.ended(turn)
    await forget_replies(fleet, turn)
    fresh = type(fleet.gateway)(fleet.js, IDENTITY)
    await publish_anew(fleet, turn)
    found = await fresh.ended(turn)
    assert text_of(found) == "one"
    assert isinstance(found.terminal, m.Result)
    assert found.terminal.usage
    assert len(worker.model.requests) == 1
    assert "Claim" not in await fleet.kinds(turn)


async def test_a_turn_that_comes_again_behind_another_persons_is_not_said_twice(
    fleet: Fleet, turn: Turn
) -> None:
    worker = await fleet.serve(model(say("one"), say("two")))
    other = fleet.gateway.turn(THREAD, "slack:T1:C1:2", "and me", caller="bob/U2")
    for each in (turn, other):
        await fleet.gateway.publish(each)
        await fleet.gateway.ended(each)
    await forget_replies(fleet, turn)
    fresh = type(fleet.gateway)(fleet.js, IDENTITY)
    await publish_anew(fleet, turn)
    await fresh.ended(turn)
    assert (await fleet.kinds(turn)).count("User") == 1
    assert len(worker.model.requests) == 2


async def test_what_is_no_turn_is_set_aside_and_its_thread_is_told(
    fleet: Fleet, turn: Turn
) -> None:
    await fleet.serve(model())
    body = codec.encode(turn.message).replace(b'"prompt"', b'"answer"')
    await publish_raw(fleet, body, turn.headers())
    found = await fleet.gateway.ended(turn)
    assert code_of(found) == "rejected"
    await fleet.settled()
    (letter,) = await letters(fleet)
    assert (letter.event, letter.sent.body) == (turn.event, body)
    assert letter.reason


async def test_a_message_that_names_a_running_set_does_not_end_it(fleet: Fleet, turn: Turn) -> None:
    hold = Hold()
    worker_tools = [FakeTool(name="hold", effect=hold)]
    await fleet.serve(model(call(("c1", "hold")), say("done")), tools=worker_tools)
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    hostile = {**turn.headers(), MESSAGE_ID: "slack:T1:C1:forged"}
    await publish_raw(fleet, codec.encode(turn.message), hostile)
    async with asyncio.timeout(10):
        while not await letters(fleet):
            pass
    hold.go.set()
    assert text_of(await fleet.gateway.ended(turn)) == "done"


async def test_a_turn_of_a_newer_binding_waits_for_a_newer_worker(fleet: Fleet, turn: Turn) -> None:
    await fleet.serve(model(say("next")))
    await publish_raw(fleet, codec.encode(turn.message), {**turn.headers(), headers.BINDING: "2"})
    known = fleet.gateway.turn(OTHER_THREAD, "slack:T1:C1:2")
    await fleet.gateway.publish(known)
    await fleet.gateway.ended(known)
    await fleet.one_left()
    assert await letters(fleet) == []
    await fleet.gateway.catch_up(turn.thread_hash)
    assert fleet.gateway.replies_of(turn) == []


async def test_the_second_turn_of_a_thread_waits_on_another_worker_while_a_tool_runs(
    fleet: Fleet, turn: Turn
) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await fleet.serve(
        model(call(("c1", "hold")), say("first")), tools=[tool], slack={"workers": 1}
    )
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    second_worker = await fleet.serve(model(say("second")), tools=[tool], slack={"workers": 1})
    second = fleet.gateway.turn(THREAD, "slack:T1:C1:2", "and then")
    other = fleet.gateway.turn(OTHER_THREAD, "slack:T1:C1:3", "elsewhere")
    second_worker.model.queue(say("elsewhere done"))
    await fleet.gateway.publish(second, other)
    await fleet.gateway.ended(other)
    await fleet.gateway.catch_up(second.thread_hash)
    assert fleet.gateway.replies_of(second) == []
    hold.go.set()
    assert text_of(await fleet.gateway.ended(turn)) == "first"
    await fleet.gateway.ended(second)
    assert len(tool.calls) == 1
    assert first.model.requests


async def test_a_turn_that_ended_its_workers_three_times_is_set_aside_and_the_thread_is_told(
    fleet: Fleet, turn: Turn
) -> None:
    await begin_set(fleet, turn, number=3)
    await fleet.gateway.publish(turn)
    worker = await fleet.serve(model(say("never")))
    found = await fleet.gateway.ended(turn)
    assert code_of(found) == "crashed"
    assert [message.sequence for message in found.messages] == [1, 2]
    await fleet.settled()
    (letter,) = await letters(fleet)
    assert (letter.event, letter.tries) == (turn.event, 3)
    assert worker.model.requests == []


async def test_drains_between_do_not_count_as_tries(fleet: Fleet, turn: Turn) -> None:
    await begin_set(fleet, turn, number=2)
    await fleet.gateway.publish(turn)
    for _ in range(3):
        channel = await fleet.channel()
        work = await asyncio.wait_for(channel.next(), 10)
        await channel.close()
        await work.done(Outcome(id=work.id, abandoned=True))
    await fleet.serve(model(say("done")))
    found = await fleet.gateway.ended(turn)
    assert text_of(found) == "done"
    tries = [reply.stored.headers[headers.TRY] for reply in fleet.gateway.replies_of(turn)]
    assert tries[-1] == "3"


async def test_a_turn_that_is_stopped_before_it_was_pulled_never_runs(
    fleet: Fleet, turn: Turn
) -> None:
    await fleet.gateway.publish(fleet.gateway.stop(turn, "slack:T1:C1:stop"), turn)
    worker = await fleet.serve(model(say("never")))
    assert code_of(await fleet.gateway.ended(turn)) == "canceled"
    await fleet.settled()
    assert worker.model.requests == []


async def test_a_turn_that_runs_is_stopped_over_the_queue_at_its_next_boundary(
    fleet: Fleet, turn: Turn
) -> None:
    hold = Hold()
    await fleet.serve(model(call(("c1", "hold"))), tools=[FakeTool(name="hold", effect=hold)])
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    await fleet.gateway.publish(fleet.gateway.stop(turn, "slack:T1:C1:stop"))
    await fleet.one_left()
    hold.go.set()
    assert code_of(await fleet.gateway.ended(turn)) == "suspended"


async def test_a_question_is_answered_by_a_click_in_time(fleet: Fleet, turn: Turn) -> None:
    await fleet.serve(
        model(call(("c1", "ask_human_confirm", b'{"question": "Sure?"}')), say("done")),
        harness=ASKS,
    )
    await fleet.gateway.publish(turn)
    question = await fleet.gateway.asked(turn)
    answer = m.ElicitReplyConfirm(
        **m.request_header(m.Sender(name="billing"), IDENTITY, request=turn.message.request),
        question_id=question.question_id,
        confirmed=True,
    )
    subject = subjects.elicit(IDENTITY, turn.message.request)
    await fleet.js.connection.request(subject, codec.encode(answer), timeout_s=5)
    assert text_of(await fleet.gateway.ended(turn)) == "done"


async def test_a_late_answer_is_a_turn_that_completes_its_call(fleet: Fleet, turn: Turn) -> None:
    worker = await fleet.serve(
        model(call(("c1", "ask_human_confirm", b'{"question": "Sure?"}')), say("done")),
        harness=ASKS,
        slack={"answer_grace": "100ms"},
    )
    await fleet.gateway.publish(turn)
    assert code_of(await fleet.gateway.ended(turn)) == "deferred"
    given = m.Answer(tool_use_id="c1", kind="confirm", answer="confirmed", confirmed=True)
    late = fleet.gateway.answer(THREAD, "slack:T1:C1:click", given)
    await fleet.gateway.publish(late)
    assert text_of(await fleet.gateway.ended(late)) == "done"
    assert "true" in str(worker.model.requests[-1].messages[-1])


async def test_an_answer_that_comes_again_is_told_how_its_run_ended(
    fleet: Fleet, turn: Turn
) -> None:
    worker = await fleet.serve(
        model(call(("c1", "ask_human_confirm", b'{"question": "Sure?"}')), say("done")),
        harness=ASKS,
        slack={"answer_grace": "100ms"},
    )
    await fleet.gateway.publish(turn)
    await fleet.gateway.ended(turn)
    given = m.Answer(tool_use_id="c1", kind="confirm", answer="confirmed", confirmed=True)
    late = fleet.gateway.answer(THREAD, "slack:T1:C1:click", given)
    await fleet.gateway.publish(late)
    await fleet.gateway.ended(late)
    await forget_replies(fleet, late)
    fresh = type(fleet.gateway)(fleet.js, IDENTITY)
    await publish_anew(fleet, late)
    assert text_of(await fresh.ended(late)) == "done"
    assert len(worker.model.requests) == 2


async def test_an_approval_that_comes_late_lets_the_call_run_once(fleet: Fleet, turn: Turn) -> None:
    tool = FakeTool(name="rm", own_tags=GATED)
    await fleet.serve(
        model(call(("c1", "rm")), say("removed")), tools=[tool], slack={"answer_grace": "100ms"}
    )
    await fleet.gateway.publish(turn)
    assert code_of(await fleet.gateway.ended(turn)) == "suspended"
    question = fleet.gateway.read(turn).questions[-1]
    assert isinstance(question, m.ElicitRequestApprove)
    given = m.Answer(
        tool_use_id="c1",
        kind="approve",
        answer="choice",
        choice="once",
        args_sha256=question.args_sha256,
    )
    late = fleet.gateway.answer(THREAD, "slack:T1:C1:click", given)
    await fleet.gateway.publish(late)
    assert text_of(await fleet.gateway.ended(late)) == "removed"
    assert len(tool.calls) == 1


async def test_an_operators_answer_names_the_session_and_reaches_the_thread(
    fleet: Fleet, turn: Turn
) -> None:
    worker = await fleet.serve(
        model(call(("c1", "ask_human_confirm", b'{"question": "Sure?"}')), say("done")),
        harness=ASKS,
        slack={"answer_grace": "100ms"},
    )
    await fleet.gateway.publish(turn)
    await fleet.gateway.ended(turn)
    given = m.Answer(tool_use_id="c1", kind="confirm", answer="confirmed", confirmed=True)
    header = m.request_header(m.Sender(name="op"), IDENTITY)
    asked = m.RequestAnswer(**header, session=turn.session, answer=given)
    assert isinstance(worker.channel, TurnsChannel)
    await worker.channel.publish(asked)
    await fleet.settled()
    await fleet.gateway.catch_up(turn.thread_hash)
    last = fleet.gateway.replies_in(turn)[-1]
    assert isinstance(last.message, m.Result)
    assert last.message.text == "done"
    assert last.stored.headers[headers.SESSION] == turn.session
    assert last.request != turn.message.request


async def test_an_operator_reaches_no_session_of_another_channel(fleet: Fleet) -> None:
    worker = await fleet.serve(model())
    assert isinstance(worker.channel, TurnsChannel)
    header = m.request_header(m.Sender(name="op"), IDENTITY)
    asked = m.RequestResume(**header, session="t-" + "0" * 64)
    with pytest.raises(ProtocolError):
        await worker.channel.publish(asked)


async def test_a_prompt_cannot_name_a_session(fleet: Fleet, turn: Turn) -> None:
    await fleet.serve(model())
    named = {**turn.headers(), headers.SESSION: turn.session}
    del named[headers.THREAD]
    await publish_raw(fleet, codec.encode(turn.message), named)
    assert code_of(await fleet.gateway.ended(turn)) == "rejected"


async def test_a_prompt_edited_under_a_parked_turn_is_one_warning_and_no_ending(
    fleet: Fleet, turn: Turn
) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await fleet.serve(model(call(("c1", "hold"))), tools=[tool])
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    draining = asyncio.create_task(first.drain())
    await asyncio.sleep(0)
    hold.go.set()
    await draining
    await fleet.serve(model(say("done")), tools=[tool], system_prompt="be long")
    found = await fleet.gateway.ended(turn)
    assert text_of(found) == "done"
    assert warnings(found) == ["config_drift"]


async def test_turns_wait_while_the_sessions_are_away_and_then_all_are_done(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    count = 12
    worker = await fleet.serve(model(*(say("done") for _ in range(count))), slack={"workers": 4})
    await fleet.js.api("STREAM.DELETE.RUNS", {}, msgspec.Raw)
    async with asyncio.timeout(15):
        while "no turn is taken" not in caplog.text:  # what was asked for before stands a while
            await fleet.queued()
    turns = [
        fleet.gateway.turn(("T1", "C1", f"t{number}"), f"slack:T1:C1:{number}")
        for number in range(count)
    ]
    await fleet.gateway.publish(*turns)
    assert await fleet.delivered() == 0
    assert isinstance(worker.channel, TurnsChannel)
    assert "RUNS" in worker.channel.unready()
    await provision(fleet.js, wishes()[0])
    for turn in turns:
        found = await fleet.gateway.ended(turn)
        assert (text_of(found), found.missed) == ("done", 0)
    await fleet.settled()


async def test_a_turn_consumer_made_anew_loses_no_turn(fleet: Fleet, turn: Turn) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    worker = await fleet.serve(model(call(("c1", "hold")), say("done")), tools=[tool])
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    await fleet.js.api("CONSUMER.DELETE.FISK_AI_TURN.billing_slack", {}, msgspec.Raw)
    await provision(fleet.js, *(w for w in wishes() if w.place == "FISK_AI_TURN.billing_slack"))
    hold.go.set()
    assert text_of(await fleet.gateway.ended(turn)) == "done"
    await fleet.settled()
    assert (len(tool.calls), len(worker.model.requests)) == (1, 2)


async def test_a_reply_consumer_made_anew_in_the_middle_misses_nothing(
    fleet: Fleet, turn: Turn
) -> None:
    hold = Hold()
    await fleet.serve(
        model(call(("c1", "hold")), say("done")), tools=[FakeTool(name="hold", effect=hold)]
    )
    await fleet.gateway.publish(turn)
    await fleet.gateway.calls(turn, "hold")
    await fleet.js.api("CONSUMER.DELETE.FISK_AI_REPLY.billing_slack", {}, msgspec.Raw)
    await provision(fleet.js, *(w for w in wishes() if w.place == "FISK_AI_REPLY.billing_slack"))
    hold.go.set()
    found = await fleet.gateway.ended(turn)
    assert text_of(found) == "done"
    assert [each.sequence for each in found.messages] == list(range(1, len(found.messages) + 1))


async def test_a_turn_of_a_thread_that_waits_for_an_answer_is_told_that_it_was_not_taken(
    fleet: Fleet, turn: Turn
) -> None:
    await fleet.serve(
        model(call(("c1", "ask_human_confirm", b'{"question": "Sure?"}'))),
        harness=ASKS,
        slack={"answer_grace": "100ms"},
    )
    await fleet.gateway.publish(turn)
    await fleet.gateway.ended(turn)
    second = fleet.gateway.turn(THREAD, "slack:T1:C1:2", "and then")
    await fleet.gateway.publish(second)
    assert code_of(await fleet.gateway.ended(second)) == "turn_not_taken"


async def test_who_asked_is_recorded_as_the_caller(fleet: Fleet, turn: Turn) -> None:
    await fleet.serve(model(say("one")))
    await fleet.gateway.publish(turn)
    await fleet.gateway.ended(turn)
    first = (await fleet.payloads(turn))[0]
    assert isinstance(first, Meta)
    assert (first.caller, first.conversation_token) == ("ada/U1", "")
    assert not [p for p in await fleet.payloads(turn) if isinstance(p, Claim)]


async def test_sessions_that_go_away_under_a_run_cost_a_pause_and_no_ending(
    fleet: Fleet, turn: Turn
) -> None:
    async def lose(raw: bytes) -> str:
        if len(tool.calls) == 1:
            await fleet.js.api("STREAM.DELETE.RUNS", {}, msgspec.Raw)
        return "done"

    tool = FakeTool(name="lose", effect=lose)
    worker = await fleet.serve(model(call(("c1", "lose"))), tools=[tool])
    await fleet.gateway.publish(turn)
    await fleet.gateway.calls(turn, "lose")
    worker.model.queue(say("made up for"))
    await provision(fleet.js, wishes()[0])
    found = await fleet.gateway.ended(turn)
    assert (text_of(found), found.restarts) == ("made up for", 1)


async def test_a_turn_goes_to_the_next_worker_at_once_while_another_one_drains(
    fleet: Fleet, turn: Turn
) -> None:
    leaving = await fleet.serve(model())
    staying = await fleet.serve(model(say("done")))
    await leaving.server.release()
    await fleet.gateway.publish(turn)
    assert text_of(await fleet.gateway.ended(turn, within_s=5)) == "done"
    assert (len(leaving.model.requests), len(staying.model.requests)) == (0, 1)
