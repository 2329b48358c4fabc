"""No credential comes from the file, and none that was written there is repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fisk_ai.bus import contexts
from fisk_ai.config import Mode
from fisk_ai.errors import ConfigError

Refusal = Callable[..., ConfigError]

SECRET = "s3cret"
ADDRESS = f"nats://ada:{SECRET}@broker:4222"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"nats_context: '{ADDRESS}'", "nats_context"),
        (f"nats_context: 'ada:{SECRET}@broker'", "nats_context"),
        ("nats_context: 'nats://broker'", "nats_context"),
        (
            f"harness: {{sessions: {{options: {{nats_context: '{ADDRESS}'}}}}}}",
            "harness.sessions.options.nats_context",
        ),
        (
            f"harness: {{memory: {{options: {{nats_context: '{ADDRESS}'}}}}}}",
            "harness.memory.options.nats_context",
        ),
        (
            f"expose: {{agent: {{jobs: {{nats_context: '{ADDRESS}'}}}}}}",
            "expose.agent.jobs.nats_context",
        ),
    ],
)
def test_an_address_in_place_of_a_context_is_refused_and_not_repeated(
    refusal: Refusal, text: str, key: str
) -> None:
    error = refusal(text, Mode.LENIENT)
    assert error.key == key
    assert f"{key} holds an address" in str(error)
    assert SECRET not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        f"password: {SECRET}",
        f"nats_url: '{ADDRESS}'",
        f"nats_creds: {SECRET}",
        f"llm: {{api_key: {SECRET}}}",
        f"expose: {{agent: {{slack: {{bot_token: xoxb-{SECRET}}}}}}}",
        f"expose: {{agent: {{jobs: {{password: {SECRET}}}}}}}",
        f"harness: {{knowledge: {{embeddings: {{api_key: {SECRET}}}}}}}",
    ],
)
def test_a_key_for_a_credential_is_none_that_the_file_has(refusal: Refusal, text: str) -> None:
    error = refusal(text, Mode.LENIENT)
    assert "unknown key" in str(error)
    assert SECRET not in str(error)


def test_an_address_typed_as_a_context_is_not_repeated() -> None:
    with pytest.raises(ConfigError, match="names no context") as caught:
        contexts.load(ADDRESS, {"HOME": "/nowhere"})
    assert SECRET not in str(caught.value)
