"""What every way of running an agent asks of its file, also where it is not built yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.config import Broker, Config, Mode, loads
from fisk_ai.config.validate import validate
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]

LOOP = {"identity": "cow", "system_prompt": "Moo.", "llm.model": "m"}
BLOCKS = {
    "jobs": "jobs: {}",
    "slack": "slack: {}",
    "web": "web: {origins: ['https://a.example']}",
    "mcp": "mcp: {}",
    "a2a.prompts": "a2a: {prompts: {}}",
    "a2a.serve_tools": "a2a: {serve_tools: true}",
}
LACKS = {
    "jobs": ["identity", "system_prompt", "llm.model", "nats_context"],
    "slack": ["identity", "system_prompt", "llm.model", "nats_context"],
    "web": ["identity", "system_prompt", "llm.model", "nats_context"],
    "mcp": ["identity", "nats_context"],
    "a2a.prompts": ["nats_context", "identity", "system_prompt", "llm.model"],
    "a2a.serve_tools": ["nats_context", "application_path", "identity"],
}
"""What each endpoint needs, in the order in which it is asked for."""

VALUES = {
    "identity": "identity: cow",
    "system_prompt": "system_prompt: Moo.",
    "llm.model": "llm: {model: m}",
    "nats_context": "nats_context: prod",
    "application_path": "application_path: ./cow",
}


JETSTREAM = "\nharness: {sessions: {backend: jetstream}}"


def served(block: str, *keys: str) -> str:
    lines = [VALUES[key] for key in keys]
    return "\n".join([f"expose: {{agent: {{{BLOCKS[block]}}}}}", *lines])


@pytest.mark.parametrize(("block", "keys"), LACKS.items())
def test_an_endpoint_asks_for_what_it_needs_in_its_order(
    read: Read, block: str, keys: list[str]
) -> None:
    for given in range(len(keys)):
        with pytest.raises(ConfigError) as caught:
            validate(read(served(block, *keys[:given])), Mode.SERVE)
        assert caught.value.key == keys[given]
        asked = "a2a" if keys[given] == "nats_context" and "a2a" in block else block
        assert f"is required when expose.agent.{asked}" in str(caught.value)
    validate(read(served(block, *keys) + JETSTREAM), Mode.SERVE)  # and for no more


@pytest.mark.parametrize("broker", [Broker.GIVEN, Broker.EMBEDDED])
@pytest.mark.parametrize(("block", "keys"), LACKS.items())
def test_a_process_that_has_a_broker_needs_no_context(
    read: Read, block: str, keys: list[str], broker: Broker
) -> None:
    kept = [key for key in keys if key != "nats_context"]
    config = read(served(block, *kept) + JETSTREAM)
    with pytest.raises(ConfigError, match="nats_context is required"):
        validate(config, Mode.SERVE, broker=Broker.NAMED)
    validate(config, Mode.SERVE, broker=broker)


def test_a_queue_may_name_a_context_of_its_own(read: Read) -> None:
    text = "identity: cow\nsystem_prompt: s\nllm: {model: m}\n"
    config = read(
        f"{text}harness: {{sessions: {{backend: jetstream}}}}\n"
        "expose: {agent: {jobs: {nats_context: queue}}}"
    )
    validate(config, Mode.SERVE)
    validate(config, Mode.AGENT)
    with pytest.raises(ConfigError, match="at the top level or under the block"):
        validate(read(f"{text}expose: {{agent: {{jobs: {{}}}}}}"), Mode.AGENT)


@pytest.mark.parametrize("block", ["jobs", "slack"])
@pytest.mark.parametrize("broker", [Broker.NAMED, Broker.GIVEN])
def test_sessions_in_files_are_refused_where_any_worker_may_continue_a_run(
    read: Read, block: str, broker: Broker
) -> None:
    config = read(served(block, *LACKS[block]))
    with pytest.raises(ConfigError, match=f'"file" but expose.agent.{block} lets any worker') as e:
        validate(config, Mode.SERVE, broker=broker)
    assert e.value.key == "harness.sessions.backend"
    validate(config, Mode.SERVE, broker=Broker.EMBEDDED)
    validate(read(served("a2a.prompts", *LACKS["a2a.prompts"])), Mode.SERVE)  # not behind prompts


@pytest.mark.parametrize("mode", [Mode.AGENT, Mode.SERVE])
def test_tools_of_peers_need_a_broker(read: Read, mode: Mode) -> None:
    text = "identity: cow\nsystem_prompt: s\nllm: {model: m}\nremote_tools: [{name: pig}]"
    with pytest.raises(ConfigError, match="nats_context is required when remote_tools is set"):
        validate(read(text), mode)
    validate(read(text), mode, broker=Broker.GIVEN)
    validate(read(f"{text}\nnats_context: prod"), mode)


@pytest.mark.parametrize("beside", ["jobs: {}", "slack: {}", "a2a: {prompts: {}}"])
def test_an_agent_that_only_serves_tools_needs_no_prompt(read: Read, beside: str) -> None:
    alone = read("llm: {model: m}\nexpose: {agent: {mcp: {}}}")
    validate(alone, Mode.AGENT)
    both = read(f"nats_context: x\nllm: {{model: m}}\nexpose: {{agent: {{mcp: {{}}, {beside}}}}}")
    with pytest.raises(ConfigError, match="system_prompt is required to run an agent"):
        validate(both, Mode.AGENT)


def test_the_first_endpoint_in_the_documented_order_is_told(read: Read) -> None:
    blocks = ["jobs", "a2a.serve_tools", "slack", "web", "mcp"]
    for start in range(len(blocks)):
        inside = ", ".join(BLOCKS[block] for block in blocks[start:])
        config = read(f"application_path: ./cow\nexpose: {{agent: {{{inside}}}}}")
        with pytest.raises(ConfigError, match=rf"expose\.agent\.{blocks[start]} is set"):
            validate(config, Mode.SERVE, broker=Broker.GIVEN)


def test_a_broker_that_is_given_reaches_the_rules(read: Read) -> None:
    text = "identity: cow\nsystem_prompt: s\nllm: {model: m}\n" + served("a2a.prompts")
    with pytest.raises(ConfigError, match="or set FISK_AI_NATS_URL"):
        read(text, Mode.SERVE)
    assert loads(text, Mode.SERVE, source=Path("agent.yaml"), broker=Broker.GIVEN)
