"""Everything that can be refused before a run, with the exact sentence a person reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_REHEARSE = ("run", "--script", "script.yaml", "go")


def _nothing(_: Agent) -> None:
    pass


@dataclass(frozen=True)
class Refusal:
    """What is set up, what is run, and what is said; ``{home}`` stands for the agent's home."""

    name: str
    text: str
    words: tuple[str, ...] = _REHEARSE
    prepare: Callable[[Agent], object] = _nothing
    environ: dict[str, str] = field(default_factory=dict[str, str])


def _append(text: str) -> Callable[[Agent], object]:
    def prepare(agent: Agent) -> None:
        path = agent.home / "agent.yaml"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return prepare


def _occupy(name: str) -> Callable[[Agent], object]:
    return lambda agent: (agent.home / name).write_text("", encoding="utf-8")


REFUSALS = (
    Refusal(
        "no configuration",
        'reading config "none.yaml": No such file or directory',
        ("run", "--config", "none.yaml", "go"),
    ),
    Refusal(
        "no prompt",
        "no prompt: give one as an argument, or --resume a conversation to continue",
        ("run", "--script", "script.yaml"),
    ),
    Refusal(
        "no key",
        "--api-key is required to run an agent; set it, export ANTHROPIC_API_KEY, or rehearse "
        "with --script FILE, which needs none",
        ("run", "go"),
    ),
    Refusal(
        "two keys",
        "ANTHROPIC_API_KEY and ANTHROPIC_API_KEY_FILE are both set; unset one of them",
        ("run", "go"),
        environ={"ANTHROPIC_API_KEY": "k", "ANTHROPIC_API_KEY_FILE": "f"},
    ),
    Refusal(
        "no script",
        '--script "none.yaml" cannot be read: No such file or directory',
        ("run", "--script", "none.yaml", "go"),
    ),
    Refusal(
        "no broker",
        'FISK_AI_NATS_SERVER names "/none/nats-server", which is no program that can be run',
        environ={"FISK_AI_NATS_SERVER": "/none/nats-server"},
    ),
    Refusal(
        "a root directory that is not there",
        '--root-dir "{home}/none" does not exist; create it before the run',
        ("run", "--script", "script.yaml", "--root-dir", "none", "go"),
    ),
    Refusal(
        "a root directory that is a file",
        '--root-dir "{home}/file" is not a directory',
        ("run", "--script", "script.yaml", "--root-dir", "file", "go"),
        _occupy("file"),
    ),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_a_start_that_cannot_succeed_is_refused_in_one_exact_sentence(
    agent: Agent, refusal: Refusal
) -> None:
    refusal.prepare(agent)
    done = agent.run(*refusal.words, environ=refusal.environ)
    assert done.err == f"fisk-ai: error: {refusal.text}\n".replace("{home}", str(agent.home))
    assert done.out == ""
    assert done.status == 1
    assert list((agent.home / "tmp").iterdir()) == []


NAMED = (
    Refusal("an unknown key", "flavour", prepare=_append("flavour: 1\n")),
    Refusal("a wrong type", "identity", prepare=_append("identity: [cow]\n")),
    Refusal(
        "no application", "application_path", prepare=lambda agent: agent.application.path.unlink()
    ),
    Refusal(
        "a state directory that cannot be made",
        "{home}/file/runs",
        ("run", "--script", "script.yaml", "--state-dir", "file/runs", "go"),
        _occupy("file"),
    ),
    Refusal(
        "a state directory that cannot be written",
        "/proc/fisk-ai",
        ("run", "--script", "script.yaml", "--state-dir", "/proc/fisk-ai", "go"),
    ),
    Refusal(
        "an unknown provider",
        "harmonica",
        ("run", "go"),
        prepare=lambda agent: agent.configure(
            "application_path: x\nsystem_prompt: p\nllm: {model: m, provider: harmonica}\n"
        ),
    ),
    Refusal(
        "a script that is none",
        "script.yaml",
        prepare=lambda agent: (agent.home / "script.yaml").write_text(
            "turns: 5\n", encoding="utf-8"
        ),
    ),
)


@pytest.mark.parametrize("refusal", NAMED, ids=lambda refusal: refusal.name)
def test_a_refusal_of_another_part_is_one_sentence_that_names_the_cause(
    agent: Agent, refusal: Refusal
) -> None:
    refusal.prepare(agent)
    done = agent.run(*refusal.words, environ=refusal.environ)
    assert done.status == 1
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("fisk-ai: error: ")
    assert refusal.text.replace("{home}", str(agent.home)) in done.err
    assert list((agent.home / "tmp").iterdir()) == []


LATE = (
    Refusal(
        "a command that describes nothing",
        "run(app)",
        prepare=lambda agent: agent.application.path.write_text("#!/bin/sh\n", encoding="utf-8"),
    ),
    Refusal("no tool is left", "tool", prepare=_append("tools: {include: [none]}\n")),
    Refusal("a trace that exists", "creating trace file: ", prepare=_occupy("trace.jsonl")),
    Refusal(
        "no key",
        "--api-key is required",
        ("run", "go"),
    ),
)
"""Refusals of what is found out last, or by the terminal while its worker starts."""


@pytest.mark.parametrize("refusal", LATE, ids=lambda refusal: refusal.name)
def test_a_start_that_is_refused_leaves_no_file_and_no_directory(
    agent: Agent, refusal: Refusal
) -> None:
    agent.extend("harness: {memory: {enabled: true}}\n")
    refusal.prepare(agent)
    before = _paths(agent)
    done = agent.run(*refusal.words, "--trace", "trace.jsonl", "--http-debug", "--a2a-debug")
    assert (done.status, done.out) == (1, "")
    assert refusal.text in done.err
    assert _paths(agent) - before <= {agent.home / "out-0", agent.home / "err-0"}


def _paths(agent: Agent) -> set[Path]:
    return set(agent.home.rglob("*"))


def test_a_rehearsal_warns_of_a_model_that_a_real_run_would_refuse(agent: Agent) -> None:
    path = agent.home / "agent.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("model: small", "model: small, provider: foo"), encoding="utf-8")
    done = agent.rehearse("go")
    assert (done.status, done.out) == (0, "It says Moo.\n")
    assert done.err.startswith(
        "warning: a run without --script would be refused: checking config: "
    )
    assert done.err.splitlines()[0].endswith(
        'unknown llm provider "foo": known providers are [anthropic scripted]'
    )
