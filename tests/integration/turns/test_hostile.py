"""Whatever lies in the queue of turns: it is answered or set aside, and the worker is unharmed."""

from __future__ import annotations

import asyncio
import random

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import headers
from fisk_ai.bus.jetstream import MESSAGE_ID
from fisk_ai.errors import BusError
from fisk_ai.testing.agent import say
from fisk_ai.testing.mutations import SPLINTERS
from fisk_ai.testing.prompts import model
from fisk_ai.testing.turns import IDENTITY, THREAD, Fleet

pytestmark = pytest.mark.integration

MESSAGES = 150
SEED = 20_260_401


def damaged(chance: random.Random, body: bytes) -> bytes:
    """Return a valid body with one to three places cut out, overwritten or added to."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(body))
        body = body[:at] + chance.choice(SPLINTERS) + body[at + chance.randint(0, 12) :]
    return body


def odd_headers(chance: random.Random, found: dict[str, str]) -> dict[str, str]:
    """Return headers of which some are missing, foreign or wrong."""
    odd = ("", "x", "../..", "%", "9" * 30, "-1", "\x7f", "a" * 2_000, "s-" + "0" * 64, "*.>")
    names = (headers.THREAD, headers.SESSION, headers.CALLER, MESSAGE_ID, headers.FINAL)
    changed = {**found, chance.choice(names): chance.choice(odd)}
    return {name: text for name, text in changed.items() if text and chance.random() > 0.05}


async def test_a_worker_outlives_damaged_turns_and_answers_the_next_sound_one(
    fleet: Fleet,
) -> None:
    chance = random.Random(SEED)
    answers = (say("damaged, but sound") for _ in range(MESSAGES))
    await fleet.serve(model(*answers, say("done")), slack={"workers": 4})
    for number in range(MESSAGES):
        turn = fleet.gateway.turn(THREAD, f"slack:T1:C1:h{number}")
        found = odd_headers(chance, turn.headers()) if number % 2 else turn.headers()
        if headers.BINDING in found and found[headers.BINDING] != "1":
            continue  # of a newer worker, and it waits for one
        body = damaged(chance, codec.encode(turn.message)) if number % 3 else b""
        try:
            await fleet.js.publish(subjects.turn(IDENTITY, "slack"), body, headers=found)
        except BusError:
            continue  # the broker itself would not have it
    await asyncio.wait_for(fleet.settled(), 30)
    turn = fleet.gateway.turn(("T1", "C1", "sound"), "slack:T1:C1:sound")
    await fleet.gateway.publish(turn)
    assert isinstance((await fleet.gateway.ended(turn)).terminal, m.Result)


async def test_a_turn_over_the_size_limit_is_set_aside(fleet: Fleet) -> None:
    await fleet.serve(model())
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    body = codec.encode(turn.message)[:-1] + b',"x":"' + b"y" * 800_000 + b'"}'
    await fleet.js.publish(subjects.turn(IDENTITY, "slack"), body, headers=turn.headers())
    found = await fleet.gateway.ended(turn)
    assert isinstance(found.terminal, m.ErrorTerminal)
    assert found.terminal.code == "rejected"
    await fleet.settled()
