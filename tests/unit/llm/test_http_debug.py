"""The dump of a model's traffic that a person reads."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import SetupError
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.http_debug import FILE_NAME, HttpDebug
from fisk_ai.llm.indent import indented
from fisk_ai.llm.model import Message, Request, TextBlock
from fisk_ai.llm.provider import HttpRequest, HttpResponse, ProviderConfig
from fisk_ai.testing.messages_endpoint import FakeMessagesEndpoint, text
from fisk_ai.text.gojson import compact

KEY = "sk-ant-hunter2-hunter2"
ASKED = HttpRequest(method="POST", url="http://host/v1/messages", body=b'{"n":1.50,"l":[],"a":[1]}')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


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
        '{\n  "n": 1.50,\n  "l": [],\n  "a": [\n    1\n  ]\n}\n'
        "\n=== HTTP response: 200 OK ===\n"
        '{\n  "x": {}\n}\n'
    )


@pytest.mark.parametrize("body", ["<html>busy</html>", "event: x\ndata: {}\n"])
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
        HttpDebug.create(path.parent / "none" / FILE_NAME)


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


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(_JSON, st.booleans())
def test_indented_json_looks_as_expected_and_says_the_same(
    value: object,
    ascii_only: bool,  # noqa: FBT001 - drawn
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":")).encode()
    spread = indented(raw)
    assert spread.decode() == json.dumps(value, ensure_ascii=ascii_only, indent=2)
    assert compact(spread) == raw
    assert indented(spread) == spread
