"""The first gate of ``fisk-ai run``: everything refused before a file is read."""

from __future__ import annotations

import json

import pytest

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import RequestPrompt, Sender, request_header
from fisk_ai.cli.run_flags import PROMPT_LIMIT_BYTES, parse
from fisk_ai.errors import ConfigError, UsageError


def test_words_are_joined_and_flags_may_stand_between_them() -> None:
    flags = parse(["tell", "--verbose", "me", "--config", "a.yaml", "a", "joke"], {})
    assert flags.prompt == "tell me a joke"
    assert flags.verbose
    assert flags.config_path == "a.yaml"


def test_words_behind_two_dashes_are_never_flags() -> None:
    assert parse(["--", "--help", "-x"], {}).prompt == "--help -x"


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert parse(["a\udcffb"], {}).prompt == "a\ufffdb"


def test_exported_twins_set_what_was_not_typed() -> None:
    environ = {
        "VERBOSE": "1",
        "THINKING": "true",
        "TOOL_OUTPUT": "yes",
        "NO_COLOR": "0",
        "NO_TUI": "y",
        "HTTP_DEBUG": "on",
    }
    flags = parse(["x"], environ)
    assert flags.verbose
    assert flags.thinking
    assert flags.tool_output
    assert flags.no_tui
    assert flags.http_debug
    assert flags.no_color  # any text but an empty one says no colour


@pytest.mark.parametrize(
    ("argv", "error", "text"),
    [
        (
            ["--resume", "x", "hello"],
            UsageError,
            "--resume does not take a query; the prompt is restored from the session",
        ),
        (["--force", "hello"], UsageError, "--force only applies when resuming"),
        (
            ["--identity", "x", "hello"],
            UsageError,
            (
                "--identity only applies with --nats-context: it names the agent to address on a "
                "bus, and the agent of this run has the identity its configuration gives it"
            ),
        ),
        (
            ["--base-url", "ftp://x", "hello"],
            ConfigError,
            (
                "invalid --base-url / ANTHROPIC_BASE_URL: 'ftp://x' must start with http:// or "
                "https://; give an http or https address"
            ),
        ),
        (
            ["--base-url", "https://me:secret@host", "hello"],
            ConfigError,
            (
                "invalid --base-url / ANTHROPIC_BASE_URL: 'https://***@host' must not hold a user "
                "name or password; give an http or https address"
            ),
        ),
        (["--take-over", "hello"], UsageError, "--take-over only applies when resuming"),
        (
            ["--api-key", "k", "--api-key-file", "f", "hello"],
            UsageError,
            "--api-key-file cannot be used beside --api-key; pass one of them",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    argv: list[str], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as refused:
        parse(argv, {})
    assert str(refused.value) == text


def test_the_gate_has_an_order() -> None:
    argv = ["--force", "--identity", "x", "--base-url", "nonsense", "hello"]
    with pytest.raises(UsageError, match="--force only"):
        parse(argv, {})
    with pytest.raises(UsageError, match="--identity only"):
        parse(argv[1:], {})
    with pytest.raises(ConfigError, match="--base-url"):
        parse(argv[3:], {})


def test_exported_variables_of_later_features_fail_nothing() -> None:
    environ = {"NO_TELEMETRY": "1", "HTTP_DEBUG": "maybe"}
    assert parse(["hello"], environ).prompt == "hello"


@pytest.mark.parametrize("char", ["x", "é", "\u2028", '"', "\n", "\x01", "😀"])
def test_a_prompt_that_is_taken_fits_its_message(char: str) -> None:
    per_char = len(json.dumps(char, ensure_ascii=False).encode()) - 2
    most = (PROMPT_LIMIT_BYTES - 2) // per_char
    prompt = parse([char * most], {}).prompt
    header = request_header(Sender(name="fisk-ai"), "i" * 128)
    assert codec.encode(RequestPrompt(**header, prompt=prompt))
    size = 2 + (most + 1) * per_char
    with pytest.raises(UsageError) as refused:
        parse([char * (most + 1)], {})
    assert str(refused.value).startswith(f"the prompt is {size} bytes, over the limit of 780000; ")


def test_a_prompt_is_read_as_utf_8_whatever_the_locale_made_of_its_bytes() -> None:
    escaped = "grüße".encode().decode("ascii", "surrogateescape")
    assert parse([escaped, "a\udcffb"], {}).prompt == "grüße a\ufffdb"
    assert parse(["a\ud800b"], {}).prompt == "a\ufffdb"
