"""The worker as a process: its start, its one ready line, its refusals and its ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.workshop import Workshop

pytestmark = pytest.mark.integration


async def _answers(caller: Connection) -> bool:
    inbox = await caller.open_inbox()
    await caller.publish_request("choria.fisk-ai.task.watchman", b"", reply=inbox.subject)
    message = await inbox.next(5)
    await inbox.close()
    return message is not None and not message.no_responders


async def test_a_worker_says_once_that_it_serves_and_does(
    workshop: Workshop, caller: Connection
) -> None:
    worker = await workshop.start()

    assert worker.said == [{"ready": True, "identity": "watchman"}]
    assert await _answers(caller)


async def test_an_idle_worker_ends_on_the_first_signal_and_answers_no_more(
    workshop: Workshop, caller: Connection
) -> None:
    worker = await workshop.start()

    worker.process.send_signal(signal.SIGTERM)

    assert await worker.ended() == 0
    assert not await _answers(caller)


async def test_a_worker_ends_when_its_owner_is_gone(workshop: Workshop) -> None:
    worker = await workshop.start()

    worker.disown()

    assert await worker.ended() == 0


async def test_a_hosted_worker_is_silent_unless_something_is_wrong(workshop: Workshop) -> None:
    worker = await workshop.start()

    worker.process.send_signal(signal.SIGTERM)
    await worker.ended()

    assert worker.stderr == b""


def test_a_worker_imports_nothing_that_only_others_need() -> None:
    program = (
        "import sys, agent_worker.app; "
        "found = {'rich', 'anthropic', 'aiohttp', 'mcp', 'textual', 'opentelemetry', "
        "'pydantic_settings'} & set(sys.modules); "
        "sys.exit(' '.join(found) or 0)"
    )

    imported = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=15
    )

    assert imported.stderr == b""
    assert imported.returncode == 0


async def test_a_misspelt_setting_is_warned_about(workshop: Workshop) -> None:
    worker = await workshop.start(environ={"FISK_AI_LOGLEVEL": "debug"})
    worker.disown()
    await worker.ended()

    assert b"FISK_AI_LOGLEVEL" in worker.stderr


async def test_json_logs_are_one_object_a_line_without_secrets(
    workshop: Workshop, broker: Broker
) -> None:
    worker = await workshop.start(
        "--hosted",
        "--verbose",
        "--script",
        str(workshop.directory / "script.yaml"),
        environ={"FISK_AI_LOG_FORMAT": "json", "ANTHROPIC_API_KEY": "sk-secret"},
    )
    worker.disown()
    await worker.ended()

    events = [json.loads(line) for line in worker.stderr.splitlines()]
    serving = next(event for event in events if event["event"].startswith("Serving "))
    assert serving["event"].startswith("Serving watchman/")
    assert serving["service"] == "agent-worker"
    assert serving["tools"] == 2
    assert b"sk-secret" not in worker.stderr
    assert broker.password.encode() not in worker.stderr


REFUSALS: dict[str, tuple[Callable[[Workshop], dict[str, str]], str]] = {
    "no configuration": (lambda shop: _without(shop, "agent.yaml"), "No such file"),
    "an unknown key": (lambda shop: _appended(shop, "colour: red\n"), "colour"),
    "a missing application": (
        lambda shop: _replaced(shop, "application_path: ", "application_path: /absent"),
        "/absent",
    ),
    "no application": (
        lambda shop: _replaced(shop, f"application_path: {shop.application.path}\n", ""),
        "sets no application_path",
    ),
    "no tool left": (
        lambda shop: _appended(shop, "include: {tools: [nothing]}\n"),
        "no tools available after filtering",
    ),
    "a relative root": (lambda shop: _appended(shop, "root_directory: here\n"), "root_directory"),
    "a missing root": (
        lambda shop: _appended(shop, "root_directory: /absent/root\n"),
        "root_directory",
    ),
    "no script": (lambda shop: _without(shop, "script.yaml"), "script.yaml"),
    "no broker": (lambda _: {"FISK_AI_NATS_URL": "nats://u:hunter2@127.0.0.1:9"}, "127.0.0.1:9"),
    "no address": (lambda _: {"FISK_AI_NATS_URL": ""}, "FISK_AI_NATS_URL"),
    "a wrong password": (
        lambda shop: {"FISK_AI_NATS_URL": shop.url.replace("nats://", "nats://x")},
        "uthorization",
    ),
    "a wide prefix": (lambda _: {"FISK_AI_INBOX_PREFIXES": "_INBOX_a,>"}, "FISK_AI_INBOX_PREFIXES"),
    "a prefix of ours": (lambda _: {"FISK_AI_INBOX_PREFIXES": "choria"}, "FISK_AI_INBOX_PREFIXES"),
    "an unknown level": (lambda _: {"FISK_AI_LOG_LEVEL": "loud"}, "FISK_AI_LOG_LEVEL"),
    "two keys": (
        lambda _: {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_API_KEY_FILE": "b"},
        "ANTHROPIC_API_KEY_FILE",
    ),
    "no health address": (lambda _: {"FISK_AI_HEALTH_ADDRESS": "8080"}, "must be host:port"),
    "a health address of others": (
        lambda _: {"FISK_AI_HEALTH_ADDRESS": "198.51.100.7:8080"},
        'FISK_AI_HEALTH_ADDRESS "198.51.100.7:8080" cannot be used',
    ),
}


def _without(shop: Workshop, name: str) -> dict[str, str]:
    (shop.directory / name).unlink()
    return {}


def _appended(shop: Workshop, text: str) -> dict[str, str]:
    shop.write("agent.yaml", (shop.directory / "agent.yaml").read_text() + text)
    return {}


def _replaced(shop: Workshop, old: str, new: str) -> dict[str, str]:
    text = (shop.directory / "agent.yaml").read_text()
    shop.write("agent.yaml", text.replace(old, new))
    return {}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refused_start_is_one_sentence_that_names_its_cause(
    workshop: Workshop, case: str
) -> None:
    prepare, named = REFUSALS[case]

    worker = await workshop.start(environ=prepare(workshop))

    assert await worker.ended() == 1
    assert len(worker.said) == 1
    assert worker.said[0]["ready"] is False
    assert named in worker.error
    assert "hunter2" not in worker.error
    assert "\n" not in worker.error
    assert b"Traceback" not in worker.stderr


async def test_a_model_without_a_key_is_refused_by_the_name_of_the_variable(
    workshop: Workshop,
) -> None:
    worker = await workshop.start("--hosted")

    assert await worker.ended() == 1
    assert "ANTHROPIC_API_KEY" in worker.error


async def test_a_start_by_hand_is_refused_on_standard_error(workshop: Workshop) -> None:
    _without(workshop, "agent.yaml")

    worker = await workshop.start(ready=False)

    assert await worker.ended() == 1
    assert worker.said == []
    lines = worker.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("agent_worker: error: ")


async def test_an_unknown_argument_is_refused_in_one_line(workshop: Workshop) -> None:
    worker = await workshop.start("--bogus", ready=False)

    assert await worker.ended() == 1
    assert worker.stderr.startswith(b"agent_worker: error: ")
    assert len(worker.stderr.splitlines()) == 1


async def test_a_worker_without_hosting_serves_what_its_configuration_exposes(
    workshop: Workshop, caller: Connection
) -> None:
    _appended(workshop, "expose:\n  agent:\n    a2a:\n      prompts: {workers: 2}\n")

    worker = await workshop.start("--script", str(workshop.directory / "script.yaml"))

    assert worker.said == [{"ready": True, "identity": "watchman"}]
    assert await _answers(caller)


async def test_a_right_that_is_missing_ends_the_worker_with_a_failure(
    workshop: Workshop, tmp_path: Path
) -> None:
    rights = (
        'listen: "127.0.0.1:-1"\n'
        "authorization { users: [{user: w, password: p, permissions: {\n"
        '  publish: ["_INBOX.>"], subscribe: ["$SRV.>", "choria.fisk-ai.discovery.watchman"]}}]}\n'
    )
    async with running_server(tmp_path / "restricted", rights) as url:
        worker = await workshop.start(
            environ={"FISK_AI_NATS_URL": url.replace("nats://", "nats://w:p@")}
        )

        assert await worker.ended() == 1
        assert b"choria.fisk-ai.task.watchman" in worker.stderr
