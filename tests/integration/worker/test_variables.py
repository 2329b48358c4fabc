"""Secrets that were handed over: where the worker and its libraries find them."""

from __future__ import annotations

import json
import os

import pytest

from agent_worker import variables
from fisk_ai import secrecy
from fisk_ai.errors import UsageError


def _handed(content: str) -> int:
    with secrecy.hand_over(content.encode()) as file:
        return os.dup(file.fileno())


def test_a_worker_of_an_operator_has_its_environment() -> None:
    assert variables.read(None) is os.environ


def test_what_was_handed_over_counts_and_the_way_to_the_broker_stays_with_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "to be put back")
    monkeypatch.setenv("FISK_AI_NATS_URL", "nats://exported")
    secrets = {"FISK_AI_NATS_URL": "nats://u:p@h", "ANTHROPIC_CUSTOM_HEADERS": "x: \udcff"}

    read = variables.read(_handed(json.dumps(secrets)))

    assert {name: read[name] for name in secrets} == secrets
    assert read["PATH"] == os.environ["PATH"]
    assert os.environ["ANTHROPIC_CUSTOM_HEADERS"] == "x: \udcff"
    assert os.environ["FISK_AI_NATS_URL"] == "nats://exported"


@pytest.mark.parametrize("content", ["", "{", "[]", "7"])
def test_what_is_no_object_of_variables_is_refused(content: str) -> None:
    with pytest.raises(UsageError, match="--secrets-fd"):
        variables.read(_handed(content))


def test_a_descriptor_with_nothing_behind_it_is_refused() -> None:
    with pytest.raises(UsageError, match="--secrets-fd"):
        variables.read(10_000)
