"""Run the agent of a directory once, in a process that a fault point may end.

The directory holds ``agent.yaml``, ``script.yaml`` and the sessions, unless ``FISK_AI_NATS_URL``
names a broker that keeps them in the stream ``RUNS``; every request to the model
leaves a line in ``requests`` before it is answered. The end of the run goes to standard output.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import fisk_ai.llm.builtin  # noqa: F401 # pyright: ignore[reportUnusedImport] - registers the providers
from fisk_ai.agent.options import Checkpoint, RunOptions
from fisk_ai.agent.run import run
from fisk_ai.config import Config, Mode, load
from fisk_ai.llm import provider
from fisk_ai.llm.blocks import message_to_json
from fisk_ai.llm.model import Request, Response
from fisk_ai.llm.provider import Capabilities, DeltaSink, Provider, ProviderConfig
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.store import Store
from fisk_ai.text import gojson
from fisk_ai.toolkit.fisk.application import load as load_application

SESSION = "faulty"


class Observed:
    """The scripted model, with every request on disk before it is answered."""

    def __init__(self, model: Provider, requests: Path) -> None:
        self._model = model
        self._requests = requests

    def capabilities(self) -> Capabilities:
        return self._model.capabilities()

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        line = gojson.dumps([message_to_json(message) for message in request.messages])
        await asyncio.to_thread(self._note, line + b"\n")
        return await self._model.call(request, on_delta)

    async def close(self) -> None:
        await self._model.close()

    def _note(self, line: bytes) -> None:
        with self._requests.open("ab") as file:
            file.write(line)


@asynccontextmanager
async def sessions_of(directory: Path) -> AsyncGenerator[Store]:
    url = os.environ.get("FISK_AI_NATS_URL", "")
    if not url:
        yield FileStore(directory / "runs")
        return
    from fisk_ai.bus.connection import ConnectOptions, connect  # noqa: PLC0415 - for few cases
    from fisk_ai.bus.jetstream import JetStream  # noqa: PLC0415 - likewise
    from fisk_ai.sessions.jetstream import StreamStore  # noqa: PLC0415 - likewise
    from fisk_ai.sessions.presence import Presence  # noqa: PLC0415 - likewise

    connection = await connect(ConnectOptions(url, "driver"))
    store = StreamStore(JetStream(connection), "RUNS", Presence(connection, "faulty", again_s=0.0))
    await store.bind()
    yield store
    await connection.drain()


async def main(directory: Path) -> dict[str, object]:
    async with sessions_of(directory) as sessions:
        return await once(directory, sessions)


async def once(directory: Path, sessions: Store) -> dict[str, object]:
    config = load(directory / "agent.yaml", Mode.AGENT).with_script(directory / "script.yaml")
    application = await load_application(config, environ=os.environ)
    model = Observed(_model(config), directory / "requests")
    options = RunOptions(
        config=config,
        provider=model,
        session_store=sessions,
        app_tools=application.tools,
        prompt="do the work",
        context="with care",
        checkpoint=Checkpoint(resume_id=SESSION, create_if_missing=True),
    )
    result, error = await run(options)
    return {
        "reason": result.reason or "",
        "text": result.text,
        "crashed": result.crashed,
        "error": str(error or ""),
    }


def _model(config: Config) -> Provider:
    settings = ProviderConfig(options=config.llm.options, directory=str(config.directory))
    return provider.new(config.llm.provider, settings)


if __name__ == "__main__":
    outcome = asyncio.run(main(Path(sys.argv[1])))
    sys.stdout.buffer.write(gojson.dumps(outcome))
