"""What ``fisk-ai run --nats-context`` refuses before it reaches for a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.cli import run
from fisk_ai.cli.resume_command import WayThere
from fisk_ai.errors import FiskError

ELSEWHERE = "run it on the worker, or drop --nats-context to run the agent here"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without any file, which is also the home without any context."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def refused(*words: str) -> str:
    with pytest.raises(FiskError) as told:
        run.execute(["--nats-context", "fleet", *words])
    return str(told.value)


def test_without_a_name_and_a_file_the_flag_that_names_an_agent_is_told() -> None:
    text = refused("hi")
    assert text.startswith('reading config "agent.yaml": ')
    assert text.endswith(": pass --identity NAME to name the agent to talk to")
    assert "--identity" not in refused("--config", "typed.yaml", "hi")


def test_a_name_that_was_made_from_that_of_a_file_addresses_nobody(home: Path) -> None:
    (home / "agent.yaml").write_text("application_path: /bin/ls\n")
    assert refused("hi").startswith(
        "--nats-context needs an agent to address: pass --identity NAME, or set identity in "
        '"agent.yaml"; '
    )


@pytest.mark.parametrize("name", ["a.b", "*", ">", "../x", "a b", "a\n", "", "x" * 129])
def test_a_name_that_would_be_more_than_one_token_of_a_subject_is_refused(name: str) -> None:
    assert "letters, digits, _ and - alone" in refused("--identity", name, "hi")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--api-key", "k"), "the worker's credential"),
        (("--api-key-file", "f"), "the worker's credential"),
        (("--base-url", "http://x"), "the address of the worker's model"),
        (("--trace", "f"), "a file of the worker"),
        (("--http-debug",), "a file of the worker"),
        (("--verbose",), "the worker's own log"),
        (("--state-dir", "d"), "the worker's session store"),
        (("--no-telemetry",), "the worker's export"),
        (("--script", "f"), "the worker's model"),
        (("--worker", "f"), "the program of a worker that is started here"),
        (("--root-dir", "d"), "where the worker's commands start"),
    ],
)
def test_what_only_an_agent_hosted_here_can_honour_is_refused_with_whose_it_is(
    words: tuple[str, ...], why: str
) -> None:
    assert refused("--identity", "x", "hi", *words) == (
        f"{words[0]} cannot be used with --nats-context: it is {why}; {ELSEWHERE}"
    )


def test_of_several_the_first_in_the_documented_order_is_told() -> None:
    assert refused("--identity", "x", "hi", "--script", "s", "--verbose").startswith("--verbose ")


def test_a_takeover_belongs_to_whoever_opens_the_store() -> None:
    text = refused("--identity", "x", "--resume", "tok", "--take-over")
    assert text.startswith("--take-over cannot be used with --nats-context: it is for whoever ")


def test_only_a_token_names_a_conversation_elsewhere() -> None:
    assert "nor a conversation token" in refused("--identity", "x", "--resume", "a b")


def test_there_is_something_to_say_and_somewhere_to_say_it() -> None:
    assert refused("--identity", "x").startswith("no prompt: ")
    assert refused("--identity", "x", "hi").startswith('connecting to NATS context "fleet": ')


def test_the_way_back_names_context_agent_and_token_and_nothing_of_this_machine() -> None:
    way = WayThere(context="my fleet", identity="watchman")
    flags = "--nats-context 'my fleet' --identity watchman"
    assert way.resume("tok") == f"fisk-ai run {flags} --resume tok"
    assert way.answer("t-1") == f"fisk-ai session answer t-1 {flags}"
    assert way.needs == ""
