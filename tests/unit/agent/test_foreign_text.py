"""Text of models, tools and people that breaks other programs: a run takes it and goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fisk_ai.agent.options import Checkpoint, SuppliedAnswer
from fisk_ai.cli.main import main
from fisk_ai.errors import DeferredError
from fisk_ai.llm.anthropic.params import build_params
from fisk_ai.llm.model import Request, ToolResultBlock
from fisk_ai.memory.file import FileMemory
from fisk_ai.sessions import codec
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand
from fisk_ai.testing.session_records import assistant, result, write_file
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text import gojson
from fisk_ai.toolkit.fisk.application import load

FOREIGN = {
    "half a surrogate": "\ud83d",
    "the other half": "\ude00",
    "halves the wrong way round": "\ude00\ud83d",
    "separators": "a\u2028b\u2029c",
    "nul": "a\0b",
    "what bytes leave": b"\xff\xfe\x80".decode(errors="surrogateescape"),
    "right to left": "\u202eevil\u2066",
    "terminal orders": "\x1b[2J\x1b]0;title\x07\x9b31m",
    "markup": "<script>&amp;</script>",
    "ends of lines": "a\r\nb\rc\n",
    "a joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "no character": "\uffff\ufdd0",
    "an order mark": "\ufeff{}",
}


@pytest.fixture(params=FOREIGN.values(), ids=[name.replace(" ", "_") for name in FOREIGN])
def foreign(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def arguments(**values: object) -> bytes:
    """Return JSON as a model may write it: every odd character as an escape."""
    return json.dumps(values).encode("ascii")


def journal_of(runs: Path) -> bytes:
    return (runs / "bench.json").read_bytes()


def names_below(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def assert_stable(data: bytes) -> None:
    """Every line reads and is written again in the same bytes."""
    data.decode("utf-8")
    for line in data.splitlines(keepends=True):
        assert codec.encode(codec.decode(line.rstrip(b"\n"))) + b"\n" == line


def assert_sendable(request: Request) -> None:
    gojson.dumps(build_params(request)).decode("utf-8")


def results_of(request: Request) -> list[ToolResultBlock]:
    return [
        block
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


async def test_foreign_text_in_every_place_breaks_neither_run_nor_session(
    bench: AgentBench, runs: Path, tmp_path: Path, foreign: str
) -> None:
    async def later(raw: bytes) -> str:
        raise DeferredError(foreign, foreign)

    async def broken(raw: bytes) -> str:
        raise ValueError(foreign)

    bench.tools = [
        FakeTool(name="echo", output=foreign),
        FakeTool(name="later", effect=later),
        FakeTool(name="broken", effect=broken),
    ]
    bench.configure(
        harness={
            "memory": {"enabled": True},
            "tools": [{"name": "read_file"}, {"name": "base64_encode"}],
        }
    )
    memory = FileMemory(tmp_path / "memory")
    written = {"key": "k", "description": f"d{foreign}", "content": foreign}
    calls = call(
        ("a", "echo", arguments(text=foreign, **{foreign: [foreign]})),
        ("b", "broken", arguments(text=foreign)),
        ("c", "memory_write", arguments(**written)),
        ("d", "memory_write", arguments(**(written | {"key": f"k{foreign}"}))),
        ("e", "memory_read", arguments(key=foreign)),
        ("f", "read_file", arguments(path=foreign)),
        ("g", "base64_encode", arguments(text=foreign)),
        ("h", f"no{foreign}tool", arguments(text=foreign)),
        ("i", "later", arguments(text=foreign)),
    )
    parked, error = await bench.run(
        calls, prompt=f"go {foreign}", context=f"with {foreign}", memory_store=memory
    )
    assert (parked.reason, error) == ("suspended", None)
    first = journal_of(runs)
    assert_stable(first)

    answer = SuppliedAnswer(tool_use_id="i", content=foreign)
    done, error = await bench.run(
        say(f"said {foreign}"),
        prompt="",
        memory_store=memory,
        checkpoint=Checkpoint(resume_id="bench", answer=answer),
    )
    assert (done.reason, error) == ("completed", None)
    second = journal_of(runs)
    assert second.startswith(first)
    assert_stable(second)
    (request,) = bench.model.requests
    assert_sendable(request)
    assert len(results_of(request)) == 9


async def test_foreign_text_in_a_call_is_what_the_command_gets_or_a_refusal_in_words(
    bench: AgentBench, runs: Path, tmp_path: Path, foreign: str
) -> None:
    text = FakeArg(name="text", required=True)
    application = FakeApplication(
        tmp_path / "app", [FakeCommand(path="say", args=(text,), echo=True)]
    )
    bench.configure(application_path=str(application.path))
    loaded = await load(bench.config, environ=os.environ)
    calls = call(
        ("a", "say", arguments(text=foreign)),
        (f"b{foreign}", "say", arguments(text="plain")),
        ("c", "say", arguments(text="plain")),
    )
    done, error = await bench.run(calls, say("done"), app_tools=loaded.tools)
    assert (done.reason, error) == ("completed", None)
    first, second, third = results_of(bench.model.requests[-1])
    assert third.content.endswith('say -- plain\\n"}')
    assert first.is_error or '"exit_code":0' in first.content
    assert "Traceback" not in first.content
    assert second.content == third.content
    assert_stable(journal_of(runs))
    assert_sendable(bench.model.requests[-1])


def test_foreign_text_in_a_search_is_looked_for_or_refused_in_one_sentence(
    runs: Path, foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(runs, "bench", assistant("a"), result("a", foreign))
    for words in (
        ("search", "--match", foreign),
        ("search", "--identity", foreign, "--caller", foreign, "--model", foreign),
        ("query", "bench", "--tool", foreign),
        ("query", "bench", "--input-match", foreign, "--json"),
        ("query", "bench", "--output-match", foreign),
    ):
        status = main(["session", *words, "--state-dir", str(runs)])
        printed = capsys.readouterr()
        assert status in (0, 1)
        assert "Traceback" not in printed.err
        assert len(printed.err.splitlines()) <= 1
        assert not set(printed.out + printed.err) & set("\x1b\x07\x9b\u202e\u2066\0")


@pytest.mark.parametrize("id_", ["../x", "-x", "*", ">", "a b", "a.b", "x" * 129, "a\n"])
async def test_an_id_of_a_model_is_data_and_no_path(
    bench: AgentBench, runs: Path, tmp_path: Path, id_: str
) -> None:
    async def later(raw: bytes) -> str:
        raise DeferredError("later", id_)

    application = FakeApplication(tmp_path / "app", [FakeCommand(path="look", output="seen")])
    bench.configure(application_path=str(application.path))
    loaded = await load(bench.config, environ=os.environ)
    bench.tools = [FakeTool(name="later", effect=later)]
    calls = call((id_, "later"), (f"{id_}2", "look"))
    parked, error = await bench.run(calls, app_tools=loaded.tools)
    assert (parked.reason, error) == ("suspended", None)
    (ran,) = application.calls()
    assert ran.call_ref == f"bench/{id_}2"
    answer = SuppliedAnswer(tool_use_id=id_, content="known")
    done, error = await bench.run(
        say("done"),
        prompt="",
        app_tools=loaded.tools,
        checkpoint=Checkpoint(resume_id="bench", answer=answer),
    )
    assert (done.reason, error) == ("completed", None)
    assert names_below(runs) == {"bench.json", "bench.lock"}
    assert names_below(tmp_path) == {"app", "runs"}


@pytest.mark.parametrize("pair", [("\ud83d", "\ude00"), ("a\0", "b\0"), ("x" * 257, "y" * 257)])
async def test_ids_that_nothing_could_carry_are_told_apart_all_the_same(
    bench: AgentBench, pair: tuple[str, str]
) -> None:
    look = FakeTool(name="look", output="seen")
    bench.tools = [look]
    calls = call((pair[0], "look", b'{"n":0}'), (pair[1], "look", b'{"n":1}'))
    parked, _ = await bench.run(calls, suspend_requested=lambda: bool(look.calls))
    assert parked.reason == "suspended"
    done, error = await bench.resume(say("done"))
    assert (done.reason, error) == ("completed", None)
    assert look.calls == [b'{"n":0}', b'{"n":1}']
    ids = [result.tool_use_id for result in results_of(bench.model.requests[-1])]
    assert len(set(ids)) == 2
    assert all(len(id_) <= 256 and id_.isprintable() for id_ in ids)
