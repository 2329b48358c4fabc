from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.config import Broker, Config, Mode, loads, prepare
from fisk_ai.config.endpoints import agent_refusals
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


def test_a_script_takes_the_place_of_the_model_and_of_nothing_else(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = read("llm: {model: m, provider: anthropic, options: {x: 1}, budget: {max_tokens: 9}}")
    scripted = config.with_script(Path("play.yaml"))
    assert scripted.llm.provider == "scripted"
    assert scripted.llm.options == {"script": str(tmp_path / "play.yaml")}
    assert (scripted.llm.model, scripted.llm.budget.max_tokens) == ("m", 9)
    assert config.llm.options == {"x": 1}


@pytest.mark.parametrize("hosted", [True, False])
def test_what_is_refused_after_reading_has_the_place_where_its_key_is_written(
    read: Read,
    hosted: bool,  # noqa: FBT001 - a column of the table
) -> None:
    config = read("harness:\n  sessions: {backend: disk}\nicon_url: x\n")
    config = config.hosted() if hosted else config
    refused = ConfigError("no such store", key="harness.sessions.backend")
    with pytest.raises(ConfigError) as caught, config.placing():
        raise refused
    assert str(caught.value) == "checking config: agent.yaml:2:14: no such store"
    assert caught.value.key == refused.key
    assert config.placed(ConfigError("missing", key="llm.model")).args == ("missing",)


def test_a_refused_script_is_not_said_to_stand_in_the_file(read: Read) -> None:
    config = read("llm: {options: {script: a.yaml}}\nicon_url: x\n").with_script(Path("b.yaml"))
    refused = config.placed(ConfigError("unreadable", key="llm.options.script"))
    assert str(refused) == "unreadable"
    assert "agent.yaml:2:1" in str(config.placed(ConfigError("x", key="icon_url")))


def test_everything_that_a_run_misses_is_known_at_once(read: Read) -> None:
    missing = agent_refusals(read("identity: cow"), Broker.EMBEDDED)
    assert [refused.key for refused in missing] == ["system_prompt", "llm.model"]


def test_a_hosted_agent_answers_one_caller_and_may_ask_them(read: Read) -> None:
    config = read(
        "application_path: cow\n"
        "system_prompt: s\n"
        "expose: {agent: {a2a: {request_timeout: 5m, prompts: {workers: 9, elicit_max: 1m}}}}\n"
    )
    hosted = config.hosted()
    a2a = hosted.expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert (a2a.prompts.workers, a2a.prompts.elicit) == (1, True)
    assert (hosted.identity, hosted.named_identity) == ("cow", True)
    assert hosted.system_prompt == "s"
    assert (config.named_identity, hosted.source) == (False, config.source)
    assert prepare(hosted).identity == "cow"


def test_an_agent_hosted_where_nobody_sits_asks_nobody(read: Read) -> None:
    a2a = read("application_path: cow\n").hosted(operator=False).expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert not a2a.prompts.elicit


AGENT = "llm: {model: m}\nsystem_prompt: s\n"
PROMPTS = "expose: {agent: {a2a: {prompts: {}}}}\nnats_context: prod\n"
WHEN = "when expose.agent.a2a.prompts is set"


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        (
            Mode.AGENT,
            "llm: {model: m}",
            "system_prompt is required to run an agent: it tells the model what it is for",
        ),
        (
            Mode.AGENT,
            "llm: {model: m}\nsystem_prompt: ' \n '",
            "system_prompt is required to run an agent: it tells the model what it is for",
        ),
        (
            Mode.AGENT,
            "system_prompt: s",
            "llm.model is required to run an agent: name the model to ask, such as claude-sonnet-5",
        ),
        (
            Mode.SERVE,
            AGENT + PROMPTS,
            (
                f"identity is required {WHEN}: it keys the subjects this agent answers on, so it"
                " must be a name you chose rather than one derived from the application or left at"
                " the default"
            ),
        ),
        (
            Mode.SERVE,
            "identity: x\nllm: {model: m}\n" + PROMPTS,
            f"system_prompt is required {WHEN}: it tells the model what it is for",
        ),
        (
            Mode.SERVE,
            "identity: x\nsystem_prompt: s\n" + PROMPTS,
            f"llm.model is required {WHEN}: name the model to ask, such as claude-sonnet-5",
        ),
        (
            Mode.SERVE,
            "expose: {agent: {a2a: {}}}",
            (
                "expose.agent.a2a enables nothing: set serve_tools: true to answer tool requests,"
                " add a prompts block to answer prompts, or set request_timeout alone to bound the"
                " requests this agent sends"
            ),
        ),
        *[
            (
                mode,
                AGENT + "identity: x\nglobal_flags: [v]",
                (
                    "global_flags is set but application_path is not: they are flags of the wrapped"
                    " application; remove global_flags or set application_path"
                ),
            )
            for mode in Mode
        ],
    ],
)
def test_a_mode_names_the_first_thing_it_misses(
    refusal: Refusal, mode: Mode, text: str, message: str
) -> None:
    said = re.sub(r"^checking config: agent\.yaml:\d:\d+: ", "", str(refusal(text, mode)))
    assert said == message


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (Mode.AGENT, AGENT),
        (Mode.AGENT, AGENT + "nats_context: prod"),
        (Mode.AGENT, AGENT + "expose: {agent: {a2a: {}}}"),
        (Mode.SERVE, "identity: x\n" + AGENT + PROMPTS),
        (Mode.SERVE, "expose: {agent: {a2a: {request_timeout: 5m}}}"),
        (Mode.SERVE, "{}"),
        (Mode.LENIENT, "{}"),
        (Mode.LENIENT, PROMPTS),
    ],
)
def test_a_mode_asks_for_no_more_than_it_uses(mode: Mode, text: str) -> None:
    taken = loads(text, mode, source=Path("agent.yaml"))
    assert taken == loads(text, Mode.LENIENT, source=Path("agent.yaml"))
