"""The notes of the harness: which apply, and that nobody rewords one without deciding."""

from __future__ import annotations

import hashlib

import pytest

from fisk_ai.agent import notes as note_module
from fisk_ai.agent.notes import HUMAN_IN_THE_LOOP, MEMORY, MEMORY_READ_ONLY, Note, notes
from fisk_ai.config import Config
from fisk_ai.errors import DriftError, ProviderError
from fisk_ai.sessions import fingerprint
from fisk_ai.testing.agent import AgentBench, say
from fisk_ai.testing.tools import FakeTool

HITL_ON = {"human_in_the_loop": {"enabled": True}}
MEMORY_ON = {"memory": {"enabled": True}}

PINNED = [
    (
        HUMAN_IN_THE_LOOP,
        "note:hitl:1",
        "3ca6d21015a7e3ab557ebe47479e9fb946013d5b2d7ab95777a047a858777194",
    ),
    (
        MEMORY,
        "note:memory:1",
        "d1f0af9eec4a883071bc1eff1e50596ad94d3c408dc9026ef75f4546b754998d",
    ),
    (
        MEMORY_READ_ONLY,
        "note:memory:1",
        "af291d3683fc5c4b609092616dfd1b6fe84598a94bf125e733631de6d835677c",
    ),
]


def configured(harness: dict[str, object]) -> Config:
    return Config.model_validate({"identity": "t", "llm": {"model": "m"}, "harness": harness})


@pytest.mark.parametrize(("note", "revision", "digest"), PINNED)
def test_a_reworded_note_is_noticed(note: Note, revision: str, digest: str) -> None:
    """A new hash is pinned here; the revision beside it rises only if the meaning changed."""
    assert note.id == revision
    assert hashlib.sha256(note.text.encode()).hexdigest() == digest


def test_every_note_is_pinned() -> None:
    written = [value for value in vars(note_module).values() if isinstance(value, Note)]
    assert written == [note for note, _, _ in PINNED]


@pytest.mark.parametrize(
    ("harness", "expected"),
    [
        ({}, []),
        (HITL_ON, [HUMAN_IN_THE_LOOP]),
        (MEMORY_ON, [MEMORY]),
        ({"memory": {"enabled": True, "read_only": True}}, [MEMORY_READ_ONLY]),
        ({**MEMORY_ON, **HITL_ON}, [HUMAN_IN_THE_LOOP, MEMORY]),
    ],
)
def test_a_note_applies_with_its_feature(harness: dict[str, object], expected: list[Note]) -> None:
    assert list(notes(configured(harness))) == expected


def test_the_notes_name_the_tools_they_speak_of() -> None:
    for word in ("ask_human_confirm", "ask_human_select", "ask_human_input"):
        assert word in HUMAN_IN_THE_LOOP.text
    for word in ("memory_list", "memory_read", "memory_write", "memory_delete"):
        assert word in MEMORY.text
    assert "memory_write" not in MEMORY_READ_ONLY.text
    assert "memory_delete" not in MEMORY_READ_ONLY.text


async def test_notes_stand_behind_the_operators_prompt(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(harness=HITL_ON)
    await bench.run(say("hello"))
    (request,) = bench.model.requests
    assert request.system_blocks == ("be brief", HUMAN_IN_THE_LOOP.text)


@pytest.mark.parametrize(
    ("replaced", "drifts"),
    [
        (Note("note:hitl:1", "Ask a person by tool."), False),
        (Note("note:hitl:2", "Ask nobody."), True),
    ],
)
async def test_a_reworded_note_resumes_and_a_raised_revision_does_not(
    bench: AgentBench, monkeypatch: pytest.MonkeyPatch, replaced: Note, *, drifts: bool
) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(harness=HITL_ON)
    await bench.run(ProviderError("busy"))
    monkeypatch.setattr(note_module, "HUMAN_IN_THE_LOOP", replaced)
    result, error = await bench.resume(say("hello"))
    assert isinstance(error, DriftError) == drifts
    assert (result.reason is None) == drifts


async def test_the_fingerprint_takes_ids_and_never_texts(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(harness=HITL_ON)
    await bench.run(say("hello"))
    state = await bench.store.load("bench")
    expected = fingerprint.system_hash("be brief", ["note:hitl:1"])
    assert state.meta.fingerprint.system_hash == expected
