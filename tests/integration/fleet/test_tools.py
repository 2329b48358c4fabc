"""An agent's tools for its peers: what the card shows, what runs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest
from msgspec import UNSET

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import Ack, Sender, ToolReply, ToolRequest, request_header
from fisk_ai.a2a.tool_client import call_tool
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import AgentUnavailableError, ProtocolError
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand
from fisk_ai.testing.workshop import Types, Workshop

pytestmark = pytest.mark.integration

SERVED = """\
identity: watchman
application_path: {application}
expose: {{agent: {{a2a: {{serve_tools: true, max_concurrent_tools: 1, tool_timeout: 2s}}}}}}
"""

Call = Callable[[str, bytes], Awaitable[ToolReply]]


@pytest.fixture
async def serving(fleet: Workshop) -> Workshop:
    """A worker that serves the tools of an application and answers no prompts."""
    application = FakeApplication(
        fleet.directory / "served",
        [
            FakeCommand(path="report", output="3 nodes\n", tags=("ai:read_only",)),
            FakeCommand(path="fail", output="bad\n", exit_code=3),
            FakeCommand(path="need", args=(FakeArg(name="name", help="Of whom", required=True),)),
            FakeCommand(path="hold", output="held\n", wait_for=fleet.gate),
            FakeCommand(path="wipe", output="gone\n", tags=("ai:confirm",)),
        ],
    )
    fleet.write("agent.yaml", SERVED.format(application=application.path))
    await fleet.start("--no-operator")
    return fleet


@pytest.fixture
def call(caller: Connection) -> Call:
    async def called(name: str, arguments: bytes) -> ToolReply:
        return await call_tool(caller, "watchman", "peer", (name, arguments), idle_s=5)

    return called


async def test_the_card_shows_the_tools_that_nobody_has_to_allow(
    serving: Workshop, caller: Connection
) -> None:
    card = await AgentClient(caller, "watchman", "peer").card(5)
    assert [tool.name for tool in card.tools] == ["report", "fail", "need", "hold"]
    assert card.model == ""
    report = card.tools[0]
    assert report.description
    assert report.behavior is not UNSET
    assert report.behavior.read_only is True


async def test_a_call_returns_what_the_command_printed(serving: Workshop, call: Call) -> None:
    reply = await call("report", b"{}")
    assert (reply.is_error, reply.output, reply.code) == (False, "3 nodes\n", "")
    assert reply.exec is not UNSET
    assert (reply.exec.command, reply.exec.exit_code) == ("report", 0)


async def test_an_exit_status_is_no_error_of_the_call(serving: Workshop, call: Call) -> None:
    reply = await call("fail", b"{}")
    assert reply.is_error is False
    assert reply.exec is not UNSET
    assert reply.exec.exit_code == 3


@pytest.mark.parametrize("name", ["nothing", "wipe"])
async def test_a_tool_that_is_not_shown_is_not_there(
    serving: Workshop, call: Call, name: str
) -> None:
    reply = await call(name, b"{}")
    assert (reply.is_error, reply.output) == (True, f'tool "{name}" is not available')
    assert reply.exec is UNSET


async def test_a_call_without_a_required_argument_does_not_run(
    serving: Workshop, call: Call
) -> None:
    reply = await call("need", b"{}")
    assert reply.is_error
    assert "name" in reply.output
    assert reply.exec is UNSET


async def test_a_call_too_many_is_refused_at_once_and_may_be_tried_again(
    serving: Workshop, caller: Connection, call: Call
) -> None:
    header = request_header(Sender(name="peer"), "watchman")
    inbox = await caller.open_inbox()
    body = codec.encode(ToolRequest(**header, name="hold"))
    await caller.publish_request(subjects.tool("watchman"), body, reply=inbox.subject)
    taken = await inbox.next(5)
    assert taken is not None
    assert isinstance(ack := codec.decode(taken.body), Ack)
    assert ack.accepted
    reply = await call("report", b"{}")
    assert (reply.is_error, reply.code, reply.exec) == (True, "capacity", UNSET)
    assert "its maximum of 1 concurrent tool calls" in reply.output
    serving.gate.touch()
    done = await inbox.next(5)
    assert done is not None
    assert isinstance(held := codec.decode(done.body), ToolReply)
    assert (held.output, done.headers["Fisk-AI-Stream-Final"]) == ("held\n", "true")
    await inbox.close()


async def test_a_call_that_takes_too_long_is_stopped_and_said_to_be(
    serving: Workshop, call: Call
) -> None:
    reply = await call("hold", b"{}")
    assert (reply.is_error, reply.output) == (True, 'the tool "hold" did not finish within 2s')


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"protocol":"io.choria.fisk-ai.v1.cancel"}'])
async def test_what_is_no_call_is_refused_and_the_next_one_served(
    serving: Workshop, caller: Connection, call: Call, body: bytes
) -> None:
    reply = await caller.request("choria.fisk-ai.tool.watchman", body, timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[0] == "400"
    assert (await call("report", b"{}")).output == "3 nodes\n"


async def test_arguments_that_are_no_object_are_refused(serving: Workshop, call: Call) -> None:
    with pytest.raises(ProtocolError, match="no object"):
        await call("report", b"[1]")


async def test_nobody_serves_the_tools_of_an_unknown_agent(caller: Connection) -> None:
    with pytest.raises(AgentUnavailableError):
        await call_tool(caller, "nobody", "peer", ("report", b"{}"), idle_s=5)


async def test_an_agent_that_serves_tools_alone_takes_no_prompts(
    serving: Workshop, caller: Connection
) -> None:
    reply = await caller.request("$SRV.INFO.watchman", b"", timeout_s=5)
    endpoints = [each["subject"] for each in json.loads(reply.body)["endpoints"]]
    assert endpoints == ["choria.fisk-ai.discovery.watchman", "choria.fisk-ai.tool.watchman"]


async def test_a_card_is_shown_to_a_person_and_to_programs(
    serving: Workshop, fleet_types: Types
) -> None:
    reached = {"FISK_AI_NATS_URL": serving.url}
    shown = await fleet_types("discover", "watchman", **reached)
    assert (shown.code, shown.err) == (0, "")
    assert "Agent watchman:" in shown.out
    assert "Prompts: no" in shown.out
    assert "report" in shown.out
    told = await fleet_types("discover", "watchman", "--json", **reached)
    card = json.loads(told.out)
    assert (card["name"], next(tool["name"] for tool in card["tools"])) == ("watchman", "report")
    nobody = await fleet_types("discover", "nobody", **reached)
    assert nobody.code == 1
    assert 'no agent answers as "nobody"' in nobody.err
