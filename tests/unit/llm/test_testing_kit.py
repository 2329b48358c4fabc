"""The test kit's own models: a queue in process, and a fake API as a process."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError, ProviderError
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.model import Delta, Message, Request, TextBlock
from fisk_ai.llm.provider import Capabilities, Provider, ProviderConfig
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.testing import model as scripted_model
from fisk_ai.testing.messages_endpoint import read_answers
from fisk_ai.testing.model import ScriptedProvider, reply

REQUEST = Request(
    model="m",
    system_blocks=(),
    messages=(Message("user", (TextBlock("go"),)),),
    tools=(ToolDef("t", "", {"properties": {"a": {}}}),),
    max_output_tokens=1,
)


async def test_queued_answers_are_given_in_order_and_requests_are_kept_as_copies() -> None:
    overloaded = ProviderError("busy", failure="overloaded")
    model = ScriptedProvider([reply("one"), overloaded])
    model.queue(reply("two"))
    assert (await model.call(REQUEST)).content == (TextBlock("one"),)
    with pytest.raises(ProviderError, match="busy"):
        await model.call(REQUEST)
    assert (await model.call(REQUEST)).content == (TextBlock("two"),)
    with pytest.raises(ProviderError, match="queue empty"):
        await model.call(REQUEST)
    assert model.requests == [REQUEST] * 4
    assert model.requests[0].tools[0].input_schema is not REQUEST.tools[0].input_schema
    await model.close()
    assert model.is_closed


async def test_the_queued_model_streams_when_asked() -> None:
    seen: list[Delta] = []

    async def sink(delta: Delta) -> None:
        seen.append(delta)

    await ScriptedProvider([reply("Moo")]).call(REQUEST, sink)
    assert seen == [Delta(0, "text", "Moo", final=True)]


def test_its_capabilities_can_be_chosen() -> None:
    chosen = Capabilities("x", "y", supports_tool_search=True)
    assert ScriptedProvider(capabilities=chosen).capabilities() == chosen
    assert ScriptedProvider().capabilities().provider == "anthropic"


def test_the_queued_model_is_made_of_public_names_alone() -> None:
    model: Provider = ScriptedProvider()
    assert model
    tree = ast.parse(Path(scripted_model.__file__).read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [f"{node.module}.{name.name}" for node in imported for name in node.names]
    ours = [name for name in ours if name.startswith("fisk_ai.")]
    assert ours
    assert not [name for name in ours if "._" in name or ".anthropic" in name]


@pytest.mark.integration
async def test_the_fake_api_runs_as_a_process(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    content = [{"type": "text", "text": "from a process"}]
    answers.write_text(json.dumps([{"content": content}]), encoding="utf-8")
    port, log = tmp_path / "port", tmp_path / "log"
    command = [sys.executable, "-m", "fisk_ai.testing.messages_endpoint"]
    options = ["--port-file", str(port), "--answers", str(answers), "--log", str(log)]
    process = await asyncio.create_subprocess_exec(
        *command, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        assert port.read_text(encoding="utf-8") == url
        model = AnthropicProvider(ProviderConfig(api_key="any", base_url=url))
        for _ in range(2):  # the last answer is repeated
            assert (await model.call(REQUEST)).content == (TextBlock("from a process"),)
        await model.close()
        lines = log.read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["model"] for line in lines] == ["m", "m"]
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


def test_the_fake_api_needs_no_package_beyond_the_standard_library() -> None:
    code = (
        "import sys, fisk_ai.testing.messages_endpoint\n"
        "heavy = {'aiohttp', 'httpx2', 'anthropic', 'msgspec', 'pydantic', 'nats'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "is no JSON"),
        ("{}", "must be a JSON list"),
        ("[]", "with an answer in it"),
        ("[1]", "answer 1 must be an object"),
        ('[{}, {"contents": []}]', "answer 2 has no field 'contents'; there are content, "),
        ('[{"status": "200"}]', "status must be a whole number"),
        ('[{"content": ["Moo"]}]', "content must be a list of blocks"),
    ],
)
def test_a_file_of_answers_that_says_something_else_is_refused_by_name(
    tmp_path: Path, text: str, named: str
) -> None:
    path = tmp_path / "answers.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_answers(path)
    assert named in str(refused.value)
    assert str(path) in str(refused.value)


def test_an_answers_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    words = ("--port-file", str(tmp_path / "port"), "--answers", str(tmp_path / "none"))
    done = subprocess.run(
        [sys.executable, "-m", "fisk_ai.testing.messages_endpoint", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("messages_endpoint: error: ")
    assert len(done.stderr.splitlines()) == 1
