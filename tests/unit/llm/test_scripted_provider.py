"""The scripted model behaves as a real one does, failures and fragments included."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import fisk_ai.llm.builtin  # noqa: F401 # pyright: ignore[reportUnusedImport] - registers
from fisk_ai.errors import ProviderError
from fisk_ai.llm import provider
from fisk_ai.llm.anthropic.declared import CREDENTIALS
from fisk_ai.llm.model import Delta, Message, Request, Response, TextBlock, ThinkingBlock
from fisk_ai.llm.provider import Provider, ProviderConfig


def scripted(folder: Path, text: str) -> Provider:
    path = folder / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return provider.new("scripted", ProviderConfig(options={"script": str(path)}))


def request(text: str, *, failed_attempts: int = 0) -> Request:
    return Request(
        model="any",
        system_blocks=("You are a cow.",),
        messages=(Message("user", (TextBlock(text),)),),
        tools=(),
        max_output_tokens=100,
        failed_attempts=failed_attempts,
    )


async def test_a_turn_is_a_whole_reply(tmp_path: Path) -> None:
    model = scripted(tmp_path, "turns: [{say: Moo, usage: {input: 3, output: 4}}]")
    answer = await model.call(request("hello"))
    assert answer == Response(
        content=(TextBlock("Moo"),),
        stop_reason="end_turn",
        usage=answer.usage,
        id="scripted_1",
        model="any",
    )
    assert (answer.usage.input, answer.usage.output) == (3, 4)
    await model.close()


def test_it_streams_needs_no_key_and_searches_no_tools(tmp_path: Path) -> None:
    capabilities = scripted(tmp_path, "turns: [{say: a}]").capabilities()
    assert capabilities.provider == capabilities.semconv_provider == "scripted"
    assert capabilities.supports_streaming
    assert not capabilities.supports_tool_search
    assert not provider.declares_credentials("scripted")
    assert set(CREDENTIALS) <= set(provider.credential_env_names())


async def test_one_instance_serves_many_runs(tmp_path: Path) -> None:
    model = scripted(tmp_path, "turns: [{say: one}, {say: two}]")
    answers = [await model.call(request("run")) for _ in range(3)]
    assert [answer.id for answer in answers] == ["scripted_1"] * 3


@pytest.mark.parametrize(
    "failure", ["rate_limited", "overloaded", "refused", "context_exceeded", "timeout"]
)
async def test_each_failure_is_the_one_a_real_provider_raises(tmp_path: Path, failure: str) -> None:
    model = scripted(tmp_path, f"turns: [{{fail: {failure}}}, {{say: recovered}}]")
    with pytest.raises(ProviderError) as failed:
        await model.call(request("go"))
    assert failed.value.failure == failure
    assert "turn 1" in str(failed.value)
    answer = await model.call(request("go", failed_attempts=1))
    assert answer.content == (TextBlock("recovered"),)


async def test_a_script_that_ran_out_names_the_file_and_the_question(tmp_path: Path) -> None:
    model = scripted(tmp_path, "turns: [{fail: overloaded}]")
    asked = request("tell\x1b[31m me\n" + "x" * 500, failed_attempts=1)
    with pytest.raises(ProviderError) as failed:
        await model.call(asked)
    assert failed.value.failure == "failed"
    text = str(failed.value)
    assert text.startswith(f"script {tmp_path / 'script.yaml'} has no turn left for: tell me xxx")
    assert "\x1b" not in text
    assert len(text) < 500


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        ("{when: milk, say: a}", "1 turn"),
        ("{when: milk, say: a}, {fail: timeout}, {when: eggs, say: b}", "2 turns"),
    ],
)
async def test_turns_that_are_left_and_do_not_match_are_counted(
    tmp_path: Path, turns: str, left: str
) -> None:
    model = scripted(tmp_path, f"turns: [{turns}]")
    with pytest.raises(ProviderError) as failed:
        await model.call(request("bread", failed_attempts=1))
    assert str(failed.value).endswith(
        f" has {left} left, but none whose when matches and none without when, for: bread"
    )


async def test_fragments_join_to_the_blocks_that_follow(tmp_path: Path) -> None:
    model = scripted(tmp_path, "turns: [{think: so so, say: ' two  words ', call: [{tool: a}]}]")
    seen: list[Delta] = []

    async def sink(delta: Delta) -> None:
        seen.append(delta)

    answer = await model.call(request("go"), sink)
    assert answer.content[:2] == (ThinkingBlock("so so"), TextBlock(" two  words "))
    for index, kind, text in ((0, "thinking", "so so"), (1, "text", " two  words ")):
        parts = [delta for delta in seen if delta.index == index]
        assert "".join(part.text for part in parts) == text
        assert {part.kind for part in parts} == {kind}
        assert [part.final for part in parts] == [False] * (len(parts) - 1) + [True]
    assert {delta.index for delta in seen} == {0, 1}


async def test_a_delay_ends_when_the_call_is_cancelled(tmp_path: Path) -> None:
    model = scripted(tmp_path, "turns: [{say: late, delay: 1h}]")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(model.call(request("go")), timeout=0.01)
