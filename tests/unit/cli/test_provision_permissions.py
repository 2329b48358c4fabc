"""What ``fisk-ai provision --permissions`` prints for which configurations."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.cli import provision
from fisk_ai.errors import UsageError

KEPT = """\
expose: {agent: {a2a: {prompts: {}}}}
nats_context: fleet
harness:
  sessions: {backend: jetstream, options: {stream: RUNS}}
"""
APART = KEPT.replace("stream: RUNS", "stream: RUNS, nats_context: store")
ASKS = "remote_tools: [{name: helper}]\n" + KEPT
SERVES = "expose: {agent: {a2a: {serve_tools: true}}}\nnats_context: fleet\n"

Prints = Callable[..., str]


@pytest.fixture
def prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Prints:
    """Type the command with words and configurations, each by its identity."""

    def printed(*words: str, **agents: str) -> str:
        named: list[str] = []
        for identity, text in agents.items():
            file = tmp_path / f"{identity}.yaml"
            file.write_text(f"identity: {identity}\nsystem_prompt: x\nllm: {{model: m}}\n{text}")
            named += ["--config", str(file)]
        assert provision.execute(["--permissions", *words, *named]) == 0
        return capsys.readouterr().out

    return printed


def users(text: str) -> list[str]:
    return re.findall(r'user: "([^"]+)"', text)


def block(text: str, user: str) -> str:
    """Return what is printed for one user."""
    return text.partition(f'user: "{user}"')[2].partition("    # ")[0]


def test_only_the_roles_of_the_configuration_are_printed(prints: Prints) -> None:
    assert users(prints(watchman=SERVES)) == ["worker", "peer", "operator"]
    with_slack = KEPT.replace("prompts: {}}", "prompts: {}}, slack: {}, mcp: {}")
    assert users(prints(watchman=with_slack)) == ["worker", "peer", "slack", "mcp", "operator"]


def test_storage_rights_are_those_of_the_connection_that_keeps(prints: Prints) -> None:
    together, apart = prints(watchman=KEPT), prints(watchman=APART)
    assert "$JS.API.STREAM.INFO.RUNS" in block(together, "worker")
    assert "worker-store" not in users(together)
    assert "$JS" not in block(apart, "worker")
    assert "$JS.API.STREAM.INFO.RUNS" in block(apart, "worker-store")
    assert '# worker-store: "inbox_prefix": "_INBOX_worker-store" in its NATS context' in apart


def test_no_password_is_printed_and_no_reply_is_allowed_for_a_time(prints: Prints) -> None:
    text = prints(watchman=APART)
    assert re.findall(r", password: (\S+)", text) == [
        "$WORKER_PASSWORD",
        "$WORKER_STORE_PASSWORD",
        "$PEER_PASSWORD",
        "$OPERATOR_PASSWORD",
    ]
    assert "allow_responses" not in text


def test_agents_that_share_a_broker_share_its_users(prints: Prints) -> None:
    text = prints(watchman=ASKS, helper=SERVES)
    assert users(text) == ["worker", "peer", "operator"]
    assert '"choria.fisk-ai.*.watchman"' in block(text, "worker")
    assert '"choria.fisk-ai.*.helper"' in block(text, "worker")


def test_agents_that_are_kept_apart_have_users_of_their_own(prints: Prints) -> None:
    text = prints("--isolate", watchman=ASKS, helper=SERVES)
    assert users(text) == [
        *("worker_watchman", "worker_helper"),
        *("peer_watchman", "peer_helper"),
        *("operator_watchman", "operator_helper"),
    ]
    watchman, helper = block(text, "worker_watchman"), block(text, "worker_helper")
    assert '"choria.fisk-ai.tool.helper"' in watchman
    assert '"_INBOX_worker_watchman.>"' in helper  # who may ask it is replied to
    assert "watchman" not in helper.replace("_INBOX_worker_watchman", "")
    assert "helper" not in block(text, "operator_watchman")
    assert (
        "# worker_helper: FISK_AI_INBOX_PREFIXES=_INBOX_worker_watchman,_INBOX_worker_helper,"
        "_INBOX_peer_helper,_INBOX_operator_helper"
    ) in text


@pytest.mark.parametrize(
    ("agents", "words", "said"),
    [
        ({"watchman": ""}, (), "nobody needs a user"),
        ({"a-b": SERVES, "a_b": SERVES}, ("--isolate",), "would have one password"),
        ({"watchman": SERVES}, ("--context", "fleet"), "only prints"),
    ],
)
def test_what_cannot_be_printed_is_refused(
    prints: Prints, agents: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        prints(*words, **agents)
