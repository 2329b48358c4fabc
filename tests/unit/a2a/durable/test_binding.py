"""Streams that could lose a turn stop the start, and say how to make better ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fisk_ai.a2a.durable.binding import Binding, bind
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.a2a.durable.provisioning import DEAD, REPLIES, TURNS, wishes
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.provisioning import look
from fisk_ai.bus.wishes import SHARED, ConsumerWish, Isolation, Wish
from fisk_ai.errors import SetupError
from fisk_ai.testing.broker import provision, running_streams

CONSUMER = "billing_slack"


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as found:
        yield found


def wished(identity: str = "billing", *, isolated: bool = False) -> list[Wish]:
    whose = Isolation(identity) if isolated else SHARED
    return list(wishes(identity, ["slack"], key="test", replicas=1, whose=whose))


def changed(name: str, **changes: object) -> list[Wish]:
    return [
        replace(wish, config={**wish.config, **changes}) if wish.name == name else wish
        for wish in wished()
    ]


async def bound(js: JetStream, identity: str = "billing") -> Binding:
    return await bind(js, identity, SLACK, key="expose.agent.slack")


async def refusal(js: JetStream, identity: str = "billing") -> str:
    with pytest.raises(SetupError) as refused:
        await bound(js, identity)
    return str(refused.value)


async def test_what_is_wished_for_is_bound(js: JetStream) -> None:
    await provision(js, *wished())
    found = await bound(js)
    assert (found.turns, found.replies, found.dead, found.lease_s) == (TURNS, REPLIES, DEAD, 60.0)


async def test_what_was_made_is_as_wished(js: JetStream) -> None:
    await provision(js, *wished())
    for wish in wished():
        assert (await look(js, wish)).lines == ("exists",)


async def test_a_broker_without_the_streams_is_refused(js: JetStream) -> None:
    assert "no stream takes it; see what is needed with: fisk-ai provision" in await refusal(js)


async def test_two_streams_for_one_subject_are_refused(js: JetStream, tmp_path: Path) -> None:
    class Twice(JetStream):
        async def streams_of(self, subject: str, *, timeout_s: float = 1.0) -> list[str]:
            return ["ONE", "TWO"]

    text = await refusal(Twice(js.connection))
    assert "2 streams take it (ONE, TWO)" in text
    assert "fisk-ai provision" in text


async def test_a_stream_that_an_operator_renamed_is_found_by_its_subject(js: JetStream) -> None:
    renamed = [
        replace(wish, stream="MINE")
        if isinstance(wish, ConsumerWish) and wish.stream == TURNS
        else replace(wish, name="MINE", config={**wish.config, "name": "MINE"})
        if wish.name == TURNS
        else wish
        for wish in wished()
    ]
    await provision(js, *renamed)
    assert (await bound(js)).turns == "MINE"


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        (TURNS, {"retention": "limits"}, "its retention is limits"),
        (TURNS, {"discard": "old", "discard_new_per_subject": False}, "its discard is old"),
        (TURNS, {"discard_new_per_subject": False}, "would drop its oldest turns"),
        (TURNS, {"max_age": 10**12, "duplicate_window": 10**9}, "expire after 1000 s"),
        (TURNS, {"max_msg_size": 1_048_575}, "at most 1048575 bytes"),
        (TURNS, {"metadata": {"fisk-ai-layout": "2"}}, "it is of layout 2"),
        (REPLIES, {"max_bytes": -1}, "it has no max_bytes"),
        (REPLIES, {"discard": "new"}, "its discard is new"),
        (DEAD, {"discard": "old"}, "its discard is old"),
        (DEAD, {"max_age": 10**12, "duplicate_window": 10**9}, "expire after 1000 s"),
    ],
)
async def test_a_stream_that_could_lose_something_is_refused(
    js: JetStream, name: str, changes: dict[str, object], said: str
) -> None:
    await provision(js, *changed(name, **changes))
    text = await refusal(js)
    assert said in text
    assert "fisk-ai provision" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_deliver": 3}, "drops a turn after 3 deliveries"),
        ({"filter_subject": "choria.fisk-ai.turn.>"}, "is not for"),
    ],
)
async def test_a_consumer_that_could_lose_a_turn_is_refused(
    js: JetStream, changes: dict[str, object], said: str
) -> None:
    await provision(js, *changed(CONSUMER, **changes))
    assert said in await refusal(js)


async def test_a_missing_consumer_is_named(js: JetStream) -> None:
    await provision(js, *(wish for wish in wished() if not isinstance(wish, ConsumerWish)))
    assert f"it has no consumer {CONSUMER}" in await refusal(js)


async def test_an_identity_that_is_too_long_for_a_consumer_is_refused(js: JetStream) -> None:
    assert "at most 64" in await refusal(js, "x" * 65)


async def test_two_agents_share_the_streams(js: JetStream) -> None:
    await provision(js, *wished())
    shared = [wish for wish in wished("shipping") if isinstance(wish, ConsumerWish)]
    await provision(js, *shared)
    assert (await bound(js)).turns == (await bound(js, "shipping")).turns


async def test_an_isolated_agent_has_streams_of_its_own(js: JetStream) -> None:
    await provision(js, *wished(isolated=True), *wished("shipping", isolated=True))
    assert (await bound(js)).turns == f"{TURNS}_billing"
    assert (await bound(js, "shipping")).replies == f"{REPLIES}_shipping"


async def test_replies_without_a_bound_are_refused_by_provision_too(js: JetStream) -> None:
    await provision(js, *changed(REPLIES, max_bytes=-1))
    (reply_wish,) = (wish for wish in wished() if wish.name == REPLIES)
    finding = await look(js, reply_wish)
    assert finding.refused
    assert "refused: max_bytes is -1" in " ".join(finding.lines)


async def test_deleting_a_stream_is_noticed(js: JetStream) -> None:
    await provision(js, *wished())
    await js.api(f"STREAM.DELETE.{DEAD}", {}, msgspec.Raw)
    assert "choria.fisk-ai.dead.billing.slack" in await refusal(js)
