"""What tests of an agent that works on a queue share: workers, submissions, and their ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from fisk_ai.a2a.queued import Submission
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.jobs.job import ENDED, Job
from fisk_ai.jobs.store import Entry
from fisk_ai.llm.model import Response
from fisk_ai.serving.contract import Channel
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.sessions.ids import session_id_for_job
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.testing.job_queue import QUEUE, QueueBench
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.prompts import Serving
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Tool

StartChannel = Callable[[Config, JetStream], Awaitable[Channel]]
"""Starts the channel of a worker: it belongs to a service, which no library imports."""


DEADLINE_S = 15.0
"""How long anything may take on a busy machine before a test gives up."""


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    """Look until ``reached``."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            if await reached():
                return
            await asyncio.sleep(0.02)


@dataclass(slots=True)
class JobBench:
    """Starts workers of the agent ``billing`` on one queue, and puts jobs into it."""

    queue: QueueBench
    runs: StreamStore
    start: StartChannel
    started: list[Serving] = field(default_factory=list[Serving])

    async def serve(
        self,
        *answers: Response | Exception,
        tools: Sequence[Tool] = (),
        connection: Connection | None = None,
        identity: str = "billing",
        jobs: dict[str, object] | None = None,
        **changes: object,
    ) -> Serving:
        """Start a worker whose model gives these answers."""
        written = {
            "identity": identity,
            "system_prompt": "be brief",
            "llm": {"model": "m"},
            "expose": {"agent": {"jobs": jobs or {}}},
            **changes,
        }
        config = Config.model_validate(written)
        js = JetStream(connection) if connection else self.queue.js
        channel = await self.start(config, js)
        model = ScriptedProvider(answers)
        resources = Resources(
            config=config,
            provider=model,
            session_store=self.runs,
            custom_tools=tools or [FakeTool(name="ls")],
        )
        server = Server([channel], [], build_runner(resources))
        serving = Serving(model, server, asyncio.create_task(server.serve()))
        self.started.append(serving)
        return serving

    async def submit(self, prompt: str = "Hi", *, job_id: str = "one", **members: object) -> Job:
        """Put a prompt into the queue."""
        submission = Submission(prompt=prompt, caller="tester", job_id=job_id, **members)  # pyright: ignore[reportArgumentType] - fields of a submission
        return (await self.queue.store.enqueue(Entry(submission.job()), QUEUE)).job

    async def reaches(self, *states: str, job_id: str = "one") -> Job:
        """Return the job once it is in one of ``states``, by default any that is an end."""
        found: list[Job] = []

        async def reached() -> bool:
            found.append(await self.queue.job(job_id))
            return found[-1].state in (states or ENDED)

        await until(reached)
        return found[-1]

    def session(self, identity: str = "billing", job_id: str = "one") -> str:
        """Return the session of a job."""
        return session_id_for_job(identity, job_id)

    async def stop(self) -> None:
        """End every worker."""
        for serving in self.started:
            await serving.server.release()
            await serving.server.cancel_runs()
            await asyncio.wait({serving.task}, timeout=10)
