"""What a child inherits."""

from __future__ import annotations

from pathlib import Path

from fisk_ai.config import Config
from fisk_ai.toolkit.environment import child_environment, credential_values, without_configured

SECRETS = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    "ANTHROPIC_CUSTOM_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_LOGS_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "SLACK_APP_TOKEN",
    "SLACK_BOT_TOKEN",
    "FISK_AI_NATS_CREDS",
    "FISK_AI_NATS_URL",
    "FISK_AI_NATS_INBOX_PREFIX",
    "FISK_AI_NATS_ANYTHING_LATER",
    "FISK_AI_FAULT",
]


def test_credentials_go_by_name_and_everything_else_stays() -> None:
    kept = {
        "HOME": "/h",
        "TMPDIR": "/t",
        "PATH": "/bin",
        "ANTHROPIC_PROFILE": "p",
        "XDG_CONFIG_HOME": "/c",
        "anthropic_api_key": "another name",
        "FISK_AI_INBOX_PREFIXES": "_INBOX_x",
        "NATS_URL": "the program's own",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "e",
        "PWD": "/here",
    }
    inherited = kept | dict.fromkeys(SECRETS, "secret")
    child = child_environment(inherited, work_dir=None, call_ref="")
    assert child == kept | {"LLMFORMAT": "1", "FISK_AI": "1"}


def test_the_two_words_about_the_caller_beat_inherited_ones_and_stand_last() -> None:
    child = child_environment(
        {"LLMFORMAT": "0", "FISK_AI": "no", "Z": "z"}, work_dir=None, call_ref=""
    )
    assert child == {"LLMFORMAT": "1", "FISK_AI": "1", "Z": "z"}


def test_a_work_directory_moves_the_working_directory_variable_along() -> None:
    child = child_environment({"PWD": "/old"}, work_dir=Path("/work"), call_ref="")
    assert child["PWD"] == "/work"


def test_the_call_is_named_and_never_inherited() -> None:
    inherited = {"FISK_AI_CALL": "other/1"}
    assert "FISK_AI_CALL" not in child_environment(inherited, work_dir=None, call_ref="")
    named = child_environment(inherited, work_dir=None, call_ref="s/toolu_1")
    assert named["FISK_AI_CALL"] == "s/toolu_1"


def test_a_secret_that_only_the_configuration_names_goes_too() -> None:
    knowledge = {"enabled": True, "embeddings": {"model": "m", "api_key_env": " EMBED_KEY "}}
    config = Config.model_validate({"harness": {"knowledge": knowledge}})
    inherited = {"EMBED_KEY": "secret", "EMBED_KEYS": "another name"}
    assert without_configured(inherited, config) == {"EMBED_KEYS": "another name"}
    assert without_configured(inherited, Config()) == inherited


def test_the_secrets_of_an_environment_are_found_by_their_names() -> None:
    environ = {
        "ANTHROPIC_API_KEY": " sk-ant-hunter2\n",
        "ANTHROPIC_AUTH_TOKEN": "short",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: moo\nAuthorization: Bearer gateway-hunter3",
        "OTEL_EXPORTER_OTLP_HEADERS": "a=exporter-hunter4,b=c",
        "FISK_AI_NATS_URL": "nats://user:broker-hunter5@host:4222",
        "FISK_AI_NATS_SERVER": "/usr/bin/nats-server",
        "EMBEDDINGS": "embeddings-hunter6",
        "PATH": "/usr/bin:/usr/local/bin",
    }
    assert {*credential_values(environ, named=["EMBEDDINGS", "NONE"])} == {
        "sk-ant-hunter2",
        "Bearer gateway-hunter3",
        "gateway-hunter3",
        "exporter-hunter4",
        "broker-hunter5",
        "embeddings-hunter6",
    }
