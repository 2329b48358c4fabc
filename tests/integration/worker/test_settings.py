"""Process settings: read once, strictly, from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_worker.settings import Settings, read
from fisk_ai.errors import ConfigError, FiskError


def test_nothing_set_is_all_defaults() -> None:
    assert read({"PATH": "/bin", "HOME": "/"}) == Settings()


def test_every_setting_is_read() -> None:
    settings = read(
        {
            "FISK_AI_NATS_URL": "nats://host:4222",
            "FISK_AI_NATS_CREDS": "/creds",
            "FISK_AI_NATS_INBOX_PREFIX": "_INBOX_worker",
            "FISK_AI_INBOX_PREFIXES": "_INBOX_a, _INBOX_b",
            "FISK_AI_LOG_LEVEL": "WARNING",
            "FISK_AI_LOG_FORMAT": "json",
            "FISK_AI_START_TIMEOUT": "1m30s",
            "FISK_AI_DRAIN_TIMEOUT": "20s",
            "FISK_AI_HEALTH_ADDRESS": "[::1]:8080",
            "ANTHROPIC_API_KEY": " key ",
            "ANTHROPIC_BASE_URL": "https://models.example",
        }
    )

    assert settings.nats_url.get_secret_value() == "nats://host:4222"
    assert settings.nats_creds == "/creds"
    assert settings.nats_inbox_prefix == "_INBOX_worker"
    assert settings.inbox_prefixes == ("_INBOX_a", "_INBOX_b")
    assert (settings.log_level, settings.log_format) == ("warning", "json")
    assert (settings.start_timeout, settings.drain_timeout) == (90.0, 20.0)
    assert settings.health_address == "[::1]:8080"
    assert settings.api_key.get_secret_value() == "key"
    assert settings.base_url == "https://models.example"
    assert settings.unknown == ()


def test_only_the_environment_that_is_given_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FISK_AI_NATS_URL", "nats://other")

    assert read({}) == Settings()


@pytest.mark.parametrize("value", ["", " "])
def test_a_blank_setting_is_no_setting(value: str) -> None:
    names = ("NATS_URL", "LOG_LEVEL", "LOG_FORMAT", "START_TIMEOUT", "HEALTH_ADDRESS")

    assert read({f"FISK_AI_{name}": value for name in names}) == Settings()


def test_a_name_in_small_letters_is_somebody_elses() -> None:
    assert read({"fisk_ai_log_level": "loud"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FISK_AI_LOG_LEVEL", "loud"),
        ("FISK_AI_LOG_FORMAT", "xml"),
        ("FISK_AI_START_TIMEOUT", "soon"),
        ("FISK_AI_START_TIMEOUT", "0s"),
        ("FISK_AI_START_TIMEOUT", "-5s"),
        ("FISK_AI_HEALTH_ADDRESS", "8080"),
        ("FISK_AI_HEALTH_ADDRESS", "127.0.0.1:80800"),
        ("FISK_AI_DRAIN_TIMEOUT", "0s"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(FiskError, match=name):
        read({name: value})


def test_a_blank_entry_among_the_prefixes_is_not_dropped_in_silence() -> None:
    assert read({"FISK_AI_INBOX_PREFIXES": "_INBOX_a,"}).inbox_prefixes == ("_INBOX_a", "")


def test_misspelt_settings_are_found_and_known_ones_are_not() -> None:
    environ = {"FISK_AI_NATS_SERVER": "/bin/x", "FISK_AI_NATSURL": "x", "FISK_AI_API_KEY": "y"}

    assert read(environ).unknown == ("FISK_AI_API_KEY", "FISK_AI_NATSURL")


def test_a_key_can_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-1234\n\n")

    assert read({"ANTHROPIC_API_KEY_FILE": str(file)}).api_key.get_secret_value() == "sk-1234"


def test_two_sources_of_one_key_are_refused() -> None:
    with pytest.raises(ConfigError, match="unset one"):
        read({"ANTHROPIC_API_KEY": "a", "ANTHROPIC_API_KEY_FILE": "b"})


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe", b"x" * 70_000])
def test_a_key_file_without_a_key_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)

    with pytest.raises(FiskError, match="ANTHROPIC_API_KEY_FILE"):
        read({"ANTHROPIC_API_KEY_FILE": str(file)})


def test_a_key_never_shows_in_the_representation_of_the_settings() -> None:
    assert "sk-secret" not in repr(read({"ANTHROPIC_API_KEY": "sk-secret"}))
    assert "hunter2" not in repr(read({"FISK_AI_NATS_URL": "nats://u:hunter2@h:1"}))
