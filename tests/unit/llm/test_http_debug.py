"""The dump of a model's traffic that a person reads."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from fisk_ai.errors import SetupError
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.http_debug import HttpDebug
from fisk_ai.llm.model import Message, Request, TextBlock
from fisk_ai.llm.provider import HttpRequest, HttpResponse, ProviderConfig
from fisk_ai.testing.messages_endpoint import FakeMessagesEndpoint, text

KEY = "sk-ant-hunter2-hunter2"
ASKED = HttpRequest(
    method="POST",
    url="http://host/v1/messages",
    body=rb'{"n":1.50,"l":[],"a":[1e2],"a":{"\u00e9":"\"{:,"}}',
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "http-debug.log"


def written_to(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def shown(path: Path, response: HttpResponse) -> str:
    async def call(_: HttpRequest) -> HttpResponse:
        return response

    dump = HttpDebug.create(path)
    assert await dump.middleware(ASKED, call) is response
    await dump.close()
    return written_to(path)


async def test_an_attempt_is_two_titled_bodies(path: Path) -> None:
    assert await shown(path, HttpResponse(status=200, reason="OK", body=b'{"x":{}}')) == (
        "\n=== HTTP request: POST http://host/v1/messages ===\n"
        '{\n  "n": 1.50,\n  "l": [],\n  "a": [\n    1e2\n  ],\n'
        '  "a": {\n    "\\u00e9": "\\"{:,"\n  }\n}\n'
        "\n=== HTTP response: 200 OK ===\n"
        '{\n  "x": {}\n}\n'
    )


@pytest.mark.parametrize("body", ["<html>busy</html>", "event: x\ndata: {}\n", "[" * 9999])
async def test_a_body_that_is_no_json_is_left_as_it_is(path: Path, body: str) -> None:
    written = await shown(path, HttpResponse(status=502, reason="", body=body.encode()))
    assert written.endswith(f"\n=== HTTP response: 502 ===\n{body}\n")


async def test_a_body_that_cannot_be_read_says_why(path: Path) -> None:
    gone = HttpResponse(status=200, reason="OK", body=None, error="it broke off")
    assert (await shown(path, gone)).endswith("=== HTTP response: 200 OK ===\nit broke off\n")


def test_a_new_dump_is_its_owners_alone_and_replaces_an_older_one(path: Path) -> None:
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    HttpDebug.create(path)
    assert path.read_bytes() == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_planted_link_is_dropped_and_not_followed(path: Path) -> None:
    victim = path.parent / "victim"
    victim.write_text("precious", encoding="utf-8")
    path.symlink_to(victim)
    HttpDebug.create(path)
    assert not path.is_symlink()
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(SetupError, match=r"^creating http-debug.log: "):
        HttpDebug.create(path)


def test_a_folder_that_is_not_there_is_refused(path: Path) -> None:
    with pytest.raises(SetupError, match=r"^creating http-debug.log: "):
        HttpDebug.create(path.parent / "none" / "http-debug.log")


async def test_a_real_call_is_dumped_without_its_headers(
    path: Path, endpoint: FakeMessagesEndpoint
) -> None:
    endpoint.queue(text(f"Moo {KEY}"))
    dump = HttpDebug.create(path)
    config = ProviderConfig(api_key=KEY, base_url=endpoint.url, middlewares=(dump.middleware,))
    model = AnthropicProvider(config)
    question = Message("user", (TextBlock("a private question"),))
    await model.call(Request("claude-x", (), (question,), (), 10))
    await model.close()
    await dump.close()
    written = written_to(path)
    assert f"=== HTTP request: POST {endpoint.url}/v1/messages ===" in written
    assert '"text": "a private question"' in written
    assert '"text": "Moo ***"' in written
    for secret in ("hunter2", "authorization", "Bearer"):
        assert secret not in written
    assert dump.take_failure() == ""
