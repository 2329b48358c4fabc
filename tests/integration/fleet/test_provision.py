"""``fisk-ai provision`` against a real broker: what is made, kept and refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.memory.bucket_option import BucketOption
from fisk_ai.memory.jetstream import BucketMemory
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.session_records import write
from fisk_ai.testing.workshop import Types, Workshop

pytestmark = pytest.mark.integration

RUNS: Mapping[str, object] = {
    "name": "RUNS",
    "subjects": ["mine.>"],
    "max_msgs_per_subject": 1,
    "discard": "new",
    "discard_new_per_subject": True,
}


@pytest.fixture
def bare(caller: Connection) -> JetStream:
    """The streams of a broker on which nothing was made."""
    return JetStream(caller)


async def test_without_apply_commands_are_printed_and_no_broker_is_asked(
    fleet_types: Types,
) -> None:
    done = await fleet_types("provision", "--replicas", "3")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "# harness.sessions.options.stream",
        (
            "nats stream add RUNS --subjects 'fisk.sessions.RUNS.>' --max-msgs-per-subject=1"
            " --discard=new --discard-per-subject --metadata=fisk-ai-layout=1 --replicas=3"
            " --defaults"
        ),
        "# harness.memory.options.bucket",
        (
            "nats kv add MEM --history=1 --max-value-size=69600 --metadata=fisk-ai-layout=1"
            " --replicas=3"
        ),
    ]


async def test_what_is_missing_is_made_and_a_second_time_changes_nothing(
    fleet: Workshop, bare: JetStream, fleet_types: Types
) -> None:
    reached = {"FISK_AI_NATS_URL": fleet.url}
    first = await fleet_types("provision", "--apply", **reached)
    assert (first.code, first.out) == (0, "")
    assert first.err.splitlines() == ["RUNS: created", "KV_MEM: created"]
    store = StreamStore(bare, "RUNS", Presence(bare.connection, "watchman"))
    await store.bind()
    await write(store, "one")
    await BucketMemory(bare, BucketOption("MEM", "", reads_before_update=True)).bind()
    second = await fleet_types("provision", "--apply", **reached)
    assert (second.code, second.err.splitlines()) == (0, ["RUNS: exists", "KV_MEM: exists"])
    assert (await store.load("one")).last_seq == 1


async def test_a_stream_of_the_operators_keeps_its_subject_and_gains_what_loses_nothing(
    fleet: Workshop, bare: JetStream, fleet_types: Types
) -> None:
    made = {**RUNS, "max_age": 3_600_000_000_000, "max_msg_size": 5000}
    await bare.api("STREAM.CREATE.RUNS", made, msgspec.Raw)
    done = await fleet_types("provision", "--apply", FISK_AI_NATS_URL=fleet.url)
    assert done.code == 0
    assert "RUNS: changed: max_age 3600000000000 -> 0" in done.err
    assert "RUNS: changed: max_msg_size 5000 -> -1" in done.err
    config = (await bare.stream("RUNS")).config
    assert (config.subjects, config.max_age, config.max_msg_size) == (("mine.>",), 0, -1)
    assert config.metadata["fisk-ai-layout"] == "1"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"discard": "old", "discard_new_per_subject": False},
            "refused: discard is old, needed new: what the stream keeps when it is full",
        ),
        ({"max_msgs_per_subject": 3}, "refused: max_msgs_per_subject is 3, needed 1:"),
        ({"storage": "memory"}, "refused: storage is memory, needed file:"),
        ({"subjects": ["a.>", "b.>"]}, "refused: subjects is a.>,b.>, needed fisk.sessions.RUNS.>"),
    ],
)
async def test_what_could_lose_something_is_refused_and_the_rest_is_done(
    fleet: Workshop,
    bare: JetStream,
    fleet_types: Types,
    changes: Mapping[str, object],
    said: str,
) -> None:
    await bare.api("STREAM.CREATE.RUNS", {**RUNS, **changes}, msgspec.Raw)
    before = (await bare.stream("RUNS")).config
    done = await fleet_types("provision", "--apply", FISK_AI_NATS_URL=fleet.url)
    assert done.code == 1
    assert said in done.err
    assert "would be at stake" in done.err
    assert "KV_MEM: created" in done.err
    after = (await bare.stream("RUNS")).config
    for name in changes:
        assert getattr(after, name) == getattr(before, name)


async def test_what_the_broker_will_not_do_is_told_once_and_the_rest_is_done(
    fleet: Workshop, bare: JetStream, fleet_types: Types
) -> None:
    await bare.api(
        "STREAM.CREATE.ALL", {"name": "ALL", "subjects": ["fisk.sessions.>"]}, msgspec.Raw
    )
    done = await fleet_types("provision", "--apply", FISK_AI_NATS_URL=fleet.url)
    failed, made = done.err.splitlines()
    assert (done.code, made) == (1, "KV_MEM: created")
    assert failed.startswith("RUNS: failed: STREAM.CREATE.RUNS: ")
    assert "overlap" in failed


async def test_a_broker_whose_messages_are_too_small_is_refused(
    fleet: Workshop, fleet_types: Types, tmp_path: Path
) -> None:
    small = (
        f'listen: "127.0.0.1:-1"\nmax_payload: 1048575\njetstream: {{store_dir: "{tmp_path}/s"}}'
    )
    async with running_server(tmp_path / "small", small) as url:
        done = await fleet_types("provision", "--apply", FISK_AI_NATS_URL=url)
    assert done.code == 1
    assert "takes messages of at most 1048575 bytes; raise max_payload" in done.err


async def test_an_older_broker_is_refused_with_the_version_needed(
    fleet: Workshop, fleet_types: Types
) -> None:
    async def old(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told = {"server_id": "S", "version": "2.13.9", "max_payload": 1 << 21, "headers": True}
        writer.write(b"INFO " + json.dumps(told).encode() + b"\r\n")
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(old, "127.0.0.1", 0)
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        done = await fleet_types(
            "provision", "--apply", FISK_AI_NATS_URL=f"nats://127.0.0.1:{port}"
        )
    assert done.code == 1
    assert "runs nats-server 2.13.9; 2.14 or newer is needed" in done.err


async def test_an_agent_that_keeps_files_needs_nothing(fleet: Workshop, fleet_types: Types) -> None:
    fleet.write("agent.yaml", "identity: watchman\n")
    done = await fleet_types("provision", "--apply")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("nothing to provision")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--replicas", "6"], "--replicas takes at most 5"),
        (["--permissions", "--apply"], "--permissions only prints"),
        (["--isolate", "--config", "agent.yaml", "--config", "other.yaml"], "names RUNS, too"),
        (["--isolate", "--config", "jobs.yaml"], "expose.agent.jobs cannot be isolated"),
        (["--isolate", "--permissions", "--config", "jobs.yaml"], "cannot be isolated"),
        (["--config", "long.yaml"], "choose a shorter one"),
        (["--apply", "--context", "nowhere"], "nowhere"),
    ],
)
async def test_what_cannot_be_meant_or_reached_is_refused_in_one_sentence(
    fleet: Workshop, fleet_types: Types, words: list[str], said: str
) -> None:
    named = (fleet.directory / "agent.yaml").read_text()
    fleet.write("other.yaml", named.replace("watchman", "other"))
    fleet.write("long.yaml", named.replace("watchman", "w" * 65))
    fleet.write("jobs.yaml", named.replace("prompts: {}}", "prompts: {}}, jobs: {}"))
    done = await fleet_types("provision", *words)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
