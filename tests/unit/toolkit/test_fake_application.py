"""The kit's own program: other tests count on what it says of its calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand, FakeFlag
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.fisk.application import load
from fisk_ai.toolkit.fisk.document import decode


async def test_every_start_is_recorded_with_its_words_and_its_call(
    configure: Callable[..., Config], tmp_path: Path
) -> None:
    application = FakeApplication(
        tmp_path / "app",
        [
            FakeCommand(path="ship dock", args=[FakeArg(name="name")]),
            FakeCommand(path="ship list", hidden=True),
        ],
        name="harbour",
    )
    (tool,) = (await load(configure(application.path), environ=os.environ)).tools
    assert application.calls() == []
    await tool.execute(CallContext(call_ref="s/1"), b'{"name":"Otter"}', ExecDeps())
    (call,) = application.calls()
    assert (call.line, call.call_ref, call.ended) == ("ship dock -- Otter", "s/1", True)
    assert application.count("ship dock") == 1
    assert application.count("ship list") == 0


async def test_a_call_that_was_killed_started_and_did_not_end(
    configure: Callable[..., Config],
    tmp_path: Path,
    written: Callable[[Path], Awaitable[str]],
) -> None:
    application = FakeApplication(
        tmp_path / "app", [FakeCommand(path="wait", wait_for=tmp_path / "never", output="x")]
    )
    (tool,) = (await load(configure(application.path), environ=os.environ)).tools
    task = asyncio.ensure_future(tool.execute(CallContext(), b"", ExecDeps()))
    await written(tmp_path / "app" / "calls")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.ended for call in application.calls()] == [False]


async def test_a_call_waits_for_a_file_where_it_is_told_to(
    configure: Callable[..., Config], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    application = FakeApplication(tmp_path / "app", [FakeCommand(path="wait", wait_for=go)])
    (tool,) = (await load(configure(application.path), environ=os.environ)).tools
    task = asyncio.ensure_future(tool.execute(CallContext(), b"", ExecDeps()))
    go.touch()
    await task
    assert [call.ended for call in application.calls()] == [True]


def test_the_document_carries_flags_arguments_and_their_schema(tmp_path: Path) -> None:
    application = FakeApplication(
        tmp_path,
        [
            FakeCommand(
                path="go",
                tags=["ai:confirm"],
                flags=[
                    FakeFlag(name="v", boolean=True, cumulative=True),
                    FakeFlag(name="label", cumulative=True),
                    FakeFlag(name="secret", hidden=True),
                ],
                args=[FakeArg(name="n", type="integer", required=True)],
            ),
            FakeCommand(path="old", hidden=True),
        ],
        global_flags=[FakeFlag(name="region", completions=["north"])],
    )
    document = decode((tmp_path / "document.json").read_bytes())
    go, old = document.commands
    assert old.hidden
    assert go.tags == ("ai:confirm",)
    assert go.restricted_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "n": {"description": "", "type": "integer"},
            "v": {"description": "", "type": "integer"},
            "label": {"description": "", "type": "array", "items": {"type": "string"}},
        },
        "required": ["n"],
    }
    assert document.flags[0].completions == ("north",)
    assert application.path.name == "fake"
