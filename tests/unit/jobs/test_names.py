"""Which names a job, its type and a queue may have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import Mode, loads
from fisk_ai.config.expose_rules import JOB_NAME
from fisk_ai.errors import ConfigError
from fisk_ai.jobs.names import valid_name
from fisk_ai.text.ids import ksuid, ksuid_time_s


@given(st.text(max_size=6) | st.from_regex(r"[a-zA-Z0-9_:-]{1,130}\n?", fullmatch=True))
def test_a_configuration_takes_the_names_that_a_broker_can_hold(name: str) -> None:
    assert bool(JOB_NAME.fullmatch(name)) is valid_name(name)


@pytest.mark.parametrize(("name", "valid"), [("a:b_C-9", True), ("a\n", False), ("", False)])
def test_a_name_is_letters_digits_and_three_signs(name: str, valid: bool) -> None:  # noqa: FBT001 - a column of the table
    assert valid_name(name) is valid


@pytest.mark.parametrize("key", ["queue", "task_type"])
def test_a_name_that_no_subject_can_hold_is_refused_with_its_key(key: str) -> None:
    text = f"expose: {{agent: {{jobs: {{{key}: a.b}}}}}}"
    with pytest.raises(ConfigError) as refused:
        loads(text, Mode.LENIENT, source=Path("agent.yaml"))
    assert refused.value.key == f"expose.agent.jobs.{key}"
    assert "must be at most 128 letters, digits, _, - and :" in str(refused.value)


def test_the_time_of_an_id_is_the_second_it_was_made_in() -> None:
    before = int(time.time())
    assert before <= ksuid_time_s(ksuid()) <= int(time.time())
