"""A slot belongs to the one task that took it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_worker.channels.admission import Admission, Refusal, Slot


def admitted(admission: Admission, request: str, session: str) -> Slot:
    slot = admission.admit(request, session)
    assert isinstance(slot, Slot)
    return slot


def code(admission: Admission, request: str, session: str) -> str:
    refusal = admission.admit(request, session)
    assert isinstance(refusal, Refusal)
    return refusal.code


def test_the_first_reason_that_holds_refuses() -> None:
    admission = Admission(2)
    admitted(admission, "r1", "s1")
    assert code(admission, "r1", "s1") == "duplicate_request"
    assert code(admission, "r2", "s1") == "conversation_busy"
    admitted(admission, "r2", "s2")
    assert code(admission, "r1", "s1") == "capacity"
    admission.drain()
    assert code(admission, "r1", "s1") == "draining"


def test_a_worker_has_at_least_one_slot() -> None:
    assert Admission(0).workers == 1


def test_a_slot_given_back_twice_frees_nobody_elses() -> None:
    admission = Admission(1)
    old = admitted(admission, "r1", "s1")
    admission.release(old)
    admitted(admission, "r1", "s1")
    admission.release(old)
    assert code(admission, "r2", "s2") == "capacity"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans())))
def test_there_are_never_more_tasks_than_slots_nor_two_of_one_conversation(
    steps: list[tuple[str, str, bool]],
) -> None:
    admission, held = Admission(2), list[Slot]()
    for request, session, release in steps:
        if release and held:
            admission.release(held.pop())
            continue
        slot = admission.admit(request, session)
        if isinstance(slot, Slot):
            held.append(slot)
        assert len(held) <= 2
        assert len({each.request for each in held}) == len(held)
        assert len({each.session for each in held}) == len(held)
