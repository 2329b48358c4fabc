"""Run the agent of a directory once, in a process that a fault point may end.

The directory holds ``agent.yaml``, ``script.yaml`` and the sessions; every request to the model
leaves a line in ``requests`` before it is answered. The end of the run goes to standard output.
"""

from __future__ import annotations

import asyncio
import os
import sys
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


async def main(directory: Path) -> dict[str, object]:
    config = load(directory / "agent.yaml", Mode.AGENT).with_script(directory / "script.yaml")
    application = await load_application(config, environ=os.environ)
    model = Observed(_model(config), directory / "requests")
    options = RunOptions(
        config=config,
        provider=model,
        session_store=FileStore(directory / "runs"),
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
