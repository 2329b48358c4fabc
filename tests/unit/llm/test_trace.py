"""The trace of a model's traffic: its lines, its file, and what never gets into it."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.errors import ProviderError, SetupError
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.model import Delta, Message, Request, TextBlock, Usage
from fisk_ai.llm.provider import HttpCall, HttpRequest, HttpResponse, ProviderConfig
from fisk_ai.llm.trace import KEYS, TraceFile, TraceSummary
from fisk_ai.testing.messages_endpoint import Answer, FakeMessagesEndpoint, failure, text

KEY = "sk-ant-hunter2-hunter2"
AT_ONCE = {"retry-after-ms": "1"}
SUMMARY = TraceSummary(
    session="s1", suspended=False, llm_calls=0, tool_calls=0, remote_tool_calls=0
)
ASKED = HttpRequest(method="POST", url="http://host/v1/messages", body=b'{"b":1.50,"a":[]}')

Lines = list[dict[str, object]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


def begun(path: Path) -> TraceFile:
    return TraceFile.create(path, model="claude-x", config="agent.yaml", version="1.2.3")


def lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def raw_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def answering(response: HttpResponse) -> HttpCall:
    async def call(_: HttpRequest) -> HttpResponse:
        return response

    return call


async def shown(path: Path, response: HttpResponse, request: HttpRequest = ASKED) -> Lines:
    """Show one attempt to a trace; return its lines without the first."""
    trace = begun(path)
    assert await trace.middleware(request, answering(response)) is response
    await trace.close()
    return lines(path)[1:]


REQUEST = Request(
    model="claude-x",
    system_blocks=(),
    messages=(Message("user", (TextBlock("a private question"),)),),
    tools=(),
    max_output_tokens=10,
    iteration=0,
)


async def ask(
    url: str,
    trace: TraceFile,
    request: Request = REQUEST,
    *,
    streamed: bool = False,
    call_timeout_s: float = 10.0,
) -> None:
    """Ask a model; a refusal is an outcome like any other."""

    async def sink(_: Delta) -> None:
        pass

    config = ProviderConfig(KEY, url, call_timeout_s, middlewares=(trace.middleware,))
    model = AnthropicProvider(config)
    try:
        await model.call(request, sink if streamed else None)
    except ProviderError:
        pass
    finally:
        await model.close()


def test_a_new_trace_is_its_owners_alone_and_says_what_runs(path: Path) -> None:
    begun(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = lines(path)
    assert list(line) == ["type", "time", "model", "config", "version"]
    assert (line["type"], line["model"], line["config"], line["version"]) == (
        "session",
        "claude-x",
        "agent.yaml",
        "1.2.3",
    )


def link(path: Path) -> None:
    path.symlink_to(path.parent / "x")


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, link])
def test_what_stands_in_its_place_is_left_as_it_is(
    path: Path, make: Callable[[Path], None]
) -> None:
    make(path)
    with pytest.raises(SetupError, match=r"^creating trace file: .*exists; remove it or name"):
        begun(path)
    assert not (path.parent / "x").exists()


@pytest.mark.parametrize("name", ["none/t", "a\0b", "x" * 300])
def test_a_trace_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SetupError, match=r"^creating trace file: "):
        begun(tmp_path / name)


async def test_an_attempt_is_a_request_and_its_response(path: Path) -> None:
    asked, answer = await shown(
        path, HttpResponse(status=200, reason="OK", body=b'{ "z": 1e2, "a": "\\u00e9" }')
    )
    assert asked["body"] == {"b": 1.5, "a": []}
    assert [key for key in asked if key != "time"] == ["type", "id", "method", "url", "body"]
    assert (asked["type"], asked["id"], asked["method"]) == ("request", 1, "POST")
    assert (answer["type"], answer["id"]) == ("response", 1)
    assert (answer["status"], answer["status_code"]) == ("200 OK", 200)
    raw = raw_text(path)
    assert '"body":{"b":1.50,"a":[]}}\n' in raw
    assert '"body":{"z":1e2,"a":"\\u00e9"}}\n' in raw


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (b"event: x\ndata: {}\n\n", "event: x\ndata: {}\n\n"),
        (b"<html>\xff</html>", "<html>\ufffd</html>"),
        (b"null", None),
        (b"[NaN]", "[NaN]"),
    ],
)
async def test_a_body_that_is_no_json_is_a_text(
    path: Path, body: bytes, written: str | None
) -> None:
    _, answer = await shown(path, HttpResponse(status=500, reason="", body=body))
    assert answer["body"] == written
    assert answer["status"] == "500"


async def test_an_empty_body_is_left_out(path: Path) -> None:
    _, answer = await shown(path, HttpResponse(status=204, reason="No Content", body=b""))
    assert "body" not in answer


async def test_a_body_that_cannot_be_read_is_told_as_that(path: Path) -> None:
    gone = HttpResponse(status=200, reason="OK", body=None, error="it broke off")
    asked, answer = await shown(path, gone, replace(ASKED, body=None))
    assert asked["body_unavailable"] is True
    assert "body" not in asked
    assert (answer["type"], answer["error"]) == ("response", "it broke off")
    assert "body" not in answer


@pytest.mark.parametrize(("iteration", "written"), [(None, None), (0, 0), (7, 7)])
async def test_the_first_iteration_is_told_from_none(
    path: Path, iteration: int | None, written: int | None
) -> None:
    response = HttpResponse(status=200, reason="OK", body=b"{}")
    for line in await shown(path, response, replace(ASKED, iteration=iteration)):
        assert line.get("iter") == written


async def test_an_attempt_without_a_response_is_an_error(path: Path) -> None:
    async def call(_: HttpRequest) -> HttpResponse:
        raise ProviderError("nobody is there")

    trace = begun(path)
    with pytest.raises(ProviderError, match="nobody is there"):
        await trace.middleware(replace(ASKED, attempt=2, iteration=1), call)
    await trace.close()
    line = lines(path)[-1]
    assert (line["type"], line["id"], line["iter"], line["attempt"], line["error"]) == (
        "error",
        1,
        1,
        2,
        "nobody is there",
    )


async def test_a_summary_says_what_a_run_did(path: Path) -> None:
    trace = begun(path)
    await trace.summary(
        TraceSummary(
            session="s1",
            suspended=True,
            llm_calls=2,
            tool_calls=3,
            remote_tool_calls=1,
            by_kind={"remote": 1, "application": 2},
            usage=Usage(input=5, output=6, cache_read=7, cache_create=8, thinking=9),
            duration_ms=10,
        )
    )
    await trace.summary(SUMMARY)
    await trace.close()
    full, empty = lines(path)[1:]
    del full["time"], empty["time"]
    assert list(full.items()) == [
        ("type", "summary"),
        ("duration_ms", 10),
        ("session", "s1"),
        ("suspended", True),
        ("llm_calls", 2),
        ("tool_calls", 3),
        ("remote_tool_calls", 1),
        ("tool_calls_by_kind", {"application": 2, "remote": 1}),
        ("input_tokens", 5),
        ("output_tokens", 6),
        ("cache_read_tokens", 7),
        ("cache_create_tokens", 8),
    ]
    assert empty == {"type": "summary", "session": "s1"}


async def test_what_comes_after_the_end_is_dropped(path: Path) -> None:
    trace = begun(path)
    await trace.close()
    before = raw_text(path)
    await trace.summary(SUMMARY)
    response = HttpResponse(status=200, reason="OK", body=b"{}")
    assert await trace.middleware(ASKED, answering(response)) is response
    await trace.close()
    assert raw_text(path) == before
    assert trace.take_failure() == ""


def test_a_full_disk_is_told_once_and_ends_no_run(path: Path) -> None:
    code = """
import asyncio, resource, sys
from pathlib import Path
from fisk_ai.llm.provider import HttpRequest, HttpResponse
from fisk_ai.llm.trace import TraceFile

async def main():
    trace = TraceFile.create(Path(sys.argv[1]), model="m", config="c", version="v")
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
    answer = HttpResponse(status=200, reason="OK", body=b"{}")
    async def call(request): return answer
    request = HttpRequest(method="POST", url="u", body=b'"' + b"x" * 999 + b'"')
    for _ in range(3):
        assert await trace.middleware(request, call) is answer
    print(trace.take_failure())
    print([trace.take_failure()])
    await trace.close()
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    told, again = done.stdout.splitlines()
    assert told == f'"{path}": File too large'
    assert again == "['']"
    assert path.stat().st_size == 300


@pytest.fixture
def kolkata(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Live half an hour off, for a while."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("kolkata")
async def test_times_are_local_and_in_order(path: Path) -> None:
    await shown(path, HttpResponse(status=200, reason="OK", body=b"{}"))
    times = [cast("str", line["time"]) for line in lines(path)]
    assert all(re.fullmatch(r"\S{10}T\S{8}\.\d{9}\+05:30", when) for when in times)
    moments = [datetime.fromisoformat(when) for when in times]
    assert moments == sorted(moments)
    assert abs((moments[0] - datetime.now(UTC)).total_seconds()) < 60


async def test_keys_stand_in_one_order_and_type_is_the_first(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    endpoint.queue(failure(529, "overloaded_error", "busy", headers=AT_ONCE), text("Moo"))
    trace = begun(path)
    await ask(endpoint.url, trace)
    await trace.summary(SUMMARY)
    await trace.close()
    for line in lines(path):
        assert list(line) == sorted(line, key=KEYS.index)
        assert next(iter(line)) == "type"


async def test_each_try_of_a_call_is_an_attempt_of_its_own(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    busy = failure(529, "overloaded_error", "busy", headers=AT_ONCE)
    endpoint.queue(busy, busy, text("Moo"))
    trace = begun(path)
    await ask(endpoint.url, trace)
    await trace.close()
    found = lines(path)[1:]
    assert [(line["type"], line["id"], line.get("attempt", 0)) for line in found] == [
        ("request", 1, 0),
        ("response", 1, 0),
        ("request", 2, 1),
        ("response", 2, 1),
        ("request", 3, 2),
        ("response", 3, 2),
    ]
    assert {line["iter"] for line in found} == {0}
    assert [line.get("status_code") for line in found[1::2]] == [529, 529, 200]


async def test_a_streamed_reply_is_traced_whole(path: Path, endpoint: FakeMessagesEndpoint) -> None:
    endpoint.queue(text("Moo"))
    trace = begun(path)
    await ask(endpoint.url, trace, streamed=True)
    await trace.close()
    body = cast("str", lines(path)[-1]["body"])
    assert body.startswith("event: message_start\n")
    assert body.endswith('data: {"type": "message_stop"}\n\n')


async def test_an_error_inside_a_stream_is_traced_with_what_came_before(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    content = [{"type": "text", "text": "Moo"}]
    endpoint.queue(Answer(content=content, stream_error="overloaded_error", error="busy"))
    trace = begun(path)
    await ask(endpoint.url, trace, streamed=True)
    await trace.close()
    line = lines(path)[-1]
    assert "error" not in line
    body = cast("str", line["body"])
    assert body.startswith("event: message_start\n")
    assert "overloaded_error" in body.splitlines()[-2]


async def test_a_reply_that_breaks_off_is_a_response_without_a_body(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    endpoint.queue(Answer(content=[{"type": "text", "text": "Moo"}], cut=3))
    trace = begun(path)
    await ask(endpoint.url, trace, streamed=True)
    await trace.close()
    line = lines(path)[-1]
    assert (line["type"], line["status_code"]) == ("response", 200)
    assert "peer closed connection" in cast("str", line["error"])
    assert "body" not in line


async def test_a_server_that_is_not_there_is_an_error_of_each_try(
    path: Path, endpoint: FakeMessagesEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    await endpoint.stop()
    trace = begun(path)
    await ask(endpoint.url, trace)
    await trace.close()
    found = lines(path)[1:]
    assert [line["type"] for line in found] == ["request", "error"] * 3
    assert "attempts failed" in cast("str", found[1]["error"])


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_out_of_time_is_told_as_one_that_ended(
    path: Path,
    endpoint: FakeMessagesEndpoint,
    streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(Answer(hang=True))
    trace = begun(path)
    await ask(endpoint.url, trace, call_timeout_s=0.2, streamed=streamed)
    await trace.close()
    line = lines(path)[-1]
    assert line["type"] == "error"
    assert line["error"] in ("the call ended before the answer did", "ReadTimeout")


async def test_runs_that_share_a_trace_get_whole_lines_and_pairs(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    endpoint.queue(*[text(f"Moo {n} " + "x" * 50_000) for n in range(8)])
    trace = begun(path)
    await asyncio.gather(
        *[ask(endpoint.url, trace, replace(REQUEST, iteration=n)) for n in range(8)]
    )
    await trace.close()
    found = lines(path)[1:]
    ids = {cast("int", line["id"]): line["iter"] for line in found if line["type"] == "request"}
    assert len(ids) == 8
    answers = [line for line in found if line["type"] == "response"]
    assert {cast("int", line["id"]): line["iter"] for line in answers} == ids


@pytest.mark.parametrize("streamed", [False, True])
async def test_neither_key_nor_header_nor_secret_of_an_address_is_written(
    path: Path,
    endpoint: FakeMessagesEndpoint,
    streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(failure(401, "authentication_error", f"no such key: {KEY}"))
    trace = begun(path)
    await ask(endpoint.url, trace, streamed=streamed)
    await trace.close()
    raw = raw_text(path)
    assert "a private question" in raw
    assert "no such key: ***" in raw
    for secret in ("hunter2", "authorization", "Bearer"):
        assert secret not in raw
