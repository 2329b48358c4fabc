"""Who exports variables for traces is told when a run exports nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.cli.telemetry_note import telemetry_note
from fisk_ai.config import Mode, loads

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
CONFIG = loads("identity: a", Mode.LENIENT, source=Path("/agents/agent.yaml"))


@pytest.mark.parametrize(
    ("environ", "flag", "why"),
    [
        ({}, False, 'telemetry.enabled is false in "/agents/agent.yaml"'),
        ({}, True, "telemetry is disabled by --no-telemetry"),
        ({"NO_TELEMETRY": "1"}, True, "telemetry is disabled by NO_TELEMETRY"),
        ({"OTEL_SDK_DISABLED": "true"}, False, "telemetry is disabled by OTEL_SDK_DISABLED"),
    ],
)
def test_a_variable_that_is_set_in_vain_is_told_with_what_switches_it_off(
    *, environ: dict[str, str], flag: bool, why: str
) -> None:
    note = telemetry_note(CONFIG, {**environ, ENDPOINT: "http://x"}, flag=flag)
    assert note == f"note: {ENDPOINT} is set but {why}; nothing is exported"


def test_nothing_is_said_where_nothing_is_set() -> None:
    assert telemetry_note(CONFIG, {"OTEL_SERVICE_NAME": "mine"}, flag=False) == ""
