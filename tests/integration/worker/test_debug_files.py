"""The files a worker writes its model's traffic to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent_worker import arguments
from agent_worker.debug_files import DebugFiles
from fisk_ai.config import Mode, loads
from fisk_ai.errors import SetupError
from fisk_ai.llm.http_debug import HttpDebug
from fisk_ai.llm.private_file import PrivateFile
from fisk_ai.llm.provider import HttpRequest, HttpResponse

FULL = Path("/dev/full")


async def test_both_files_see_an_attempt_and_the_readable_one_sees_it_first(
    tmp_path: Path,
) -> None:
    trace, dump = tmp_path / "trace.jsonl", tmp_path / "http-debug.log"
    told = arguments.parse(
        ["--config", "agent.yaml", "--trace", str(trace), "--http-debug", str(dump)]
    )
    config = loads("llm: {model: m}", Mode.LENIENT, source=Path("agent.yaml"))
    files = DebugFiles(config, told)
    files.begin()
    outer, inner = files.middlewares
    seen: list[str] = []

    async def model(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200, reason="OK", body=b'{"answer": "moo"}')

    async def next_one(request: HttpRequest) -> HttpResponse:
        seen.append("between" if dump.read_text() else "too early")
        return await inner(request, model)

    request = HttpRequest(method="POST", url="https://h/v1", body=b'{"question": "what"}')
    await outer(request, next_one)
    await files.close()

    assert seen[0] == "between"
    assert "moo" in dump.read_text()
    lines = [json.dumps(json.loads(line)) for line in trace.read_text().splitlines()]
    assert any("moo" in line for line in lines)


def test_a_dump_that_cannot_be_made_leaves_no_trace_either(tmp_path: Path) -> None:
    trace, dump = tmp_path / "trace.jsonl", tmp_path / "none" / "http-debug.log"
    config = loads("llm: {model: m}", Mode.LENIENT, source=Path("agent.yaml"))
    told = ["--config", "agent.yaml", "--trace", str(trace), "--http-debug", str(dump)]
    with pytest.raises(SetupError, match=r"^creating http-debug\.log: "):
        DebugFiles(config, arguments.parse(told)).begin()
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_made_before_all_else_was_started(tmp_path: Path) -> None:
    config = loads("llm: {model: m}", Mode.LENIENT, source=Path("agent.yaml"))
    told = ["--config", "agent.yaml", "--trace", str(tmp_path / "t"), "--http-debug"]
    assert len(DebugFiles(config, arguments.parse([*told, str(tmp_path / "h")])).middlewares) == 2
    assert list(tmp_path.iterdir()) == []


def test_nobody_asked_for_a_file_and_none_is_made(tmp_path: Path) -> None:
    config = loads("llm: {model: m}", Mode.LENIENT, source=Path("agent.yaml"))
    files = DebugFiles(config, arguments.parse(["--config", "agent.yaml"]))
    files.begin()
    assert files.middlewares == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
async def test_a_file_that_could_not_be_written_to_its_end_is_told_at_the_end() -> None:
    full = PrivateFile(FULL, os.open(FULL, os.O_WRONLY))
    config = loads("llm: {model: m}", Mode.LENIENT, source=Path("agent.yaml"))
    told = ["--config", "agent.yaml", "--http-debug", "http-debug.log"]
    files = DebugFiles(config, arguments.parse(told))
    files.http = HttpDebug(full)

    async def model(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200, reason="OK", body=b"{}")

    (middleware,) = files.middlewares
    answered = await middleware(HttpRequest(method="POST", url="https://h", body=b"{}"), model)
    with capture_logs() as logs:
        await files.close()

    assert answered.status == 200
    assert [(each["log_level"], each["argument"]) for each in logs] == [("warning", "--http-debug")]
    assert "No space left" in logs[0]["error"]
