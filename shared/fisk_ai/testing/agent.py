"""An agent on a bench: replies from a list, tools of a test, a real session store.

Everything goes through :func:`fisk_ai.agent.run.run`, so what a test sees is what a host sees.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

from fisk_ai.agent.events import EventSink
from fisk_ai.agent.hooks import Hooks
from fisk_ai.agent.options import (
    Budget,
    Checkpoint,
    HeldApproval,
    NextPrompt,
    RunOptions,
    RunOutcome,
    RunTrace,
    SuppliedAnswer,
)
from fisk_ai.agent.run import run
from fisk_ai.config import Config
from fisk_ai.llm.model import Response, TextBlock, ToolUseBlock, Usage
from fisk_ai.llm.provider import Capabilities, Provider
from fisk_ai.memory.store import MemoryStore
from fisk_ai.sessions.records import Payload
from fisk_ai.sessions.store import Store
from fisk_ai.testing.events import RecordingEvents, ScriptedPrompter
from fisk_ai.testing.model import ANTHROPIC_LIKE, ScriptedProvider
from fisk_ai.toolkit.contract import Advisory, Tool

ONE_TOKEN_EACH_WAY = Usage(input=1, output=1)


def say(text: str, *, stop_reason: str = "end_turn", usage: Usage = ONE_TOKEN_EACH_WAY) -> Response:
    """Return a reply of prose."""
    return Response((TextBlock(text),), stop_reason, usage)


def call(
    *calls: tuple[str, str] | tuple[str, str, bytes],
    stop_reason: str = "tool_use",
    usage: Usage = ONE_TOKEN_EACH_WAY,
) -> Response:
    """Return a reply that asks for calls, each ``(id, tool)`` or ``(id, tool, arguments)``."""
    blocks = (ToolUseBlock(item[0], item[1], item[2] if len(item) > 2 else b"{}") for item in calls)
    return Response(tuple(blocks), stop_reason, usage)


class Changes(TypedDict, total=False):
    """What one run of a bench does differently from its fields."""

    prompt: str
    context: str
    checkpoint: Checkpoint | None
    suspend_requested: Callable[[], bool]
    claimed_by: str
    human_paced: bool
    verbose: bool
    budget: Budget
    provider: Provider
    session_store: Store
    events: EventSink
    app_tools: Sequence[Tool]
    app_advisories: Sequence[Advisory]
    tool_work_dir: Path
    store_dir: Path
    hooks: Hooks
    memory_store: MemoryStore
    next_prompt: Callable[[], Awaitable[NextPrompt]]
    trace: RunTrace


@dataclass(kw_only=True)
class AgentBench:
    """One agent whose parts a test may replace between runs.

    Every run gets a fresh model, kept as ``model``, and a fresh sink, kept as ``events``.
    ``session_id`` is the session of every run that brings no checkpoint of its own.
    """

    store: Store
    config: Config
    tools: Sequence[Tool] = ()
    capabilities: Capabilities = ANTHROPIC_LIKE
    prompter: ScriptedPrompter = field(default_factory=lambda: ScriptedPrompter(present=False))
    session_id: str = "bench"
    model: ScriptedProvider = field(default_factory=ScriptedProvider)
    events: RecordingEvents = field(default_factory=RecordingEvents)

    def configure(self, **changes: object) -> None:
        """Replace blocks of the configuration, as they would stand in the file."""
        written = self.config.model_dump(exclude_unset=True) | changes
        self.config = Config.model_validate(written)

    async def run(self, *answers: Response | Exception, **changes: Unpack[Changes]) -> RunOutcome:
        """Run once; by default the bench's session is begun or continued."""
        self.model = ScriptedProvider(answers, capabilities=self.capabilities)
        self.events = RecordingEvents(deltas=self.events.deltas)
        options = RunOptions(
            config=self.config,
            provider=self.model,
            session_store=self.store,
            custom_tools=self.tools,
            prompt="go",
            checkpoint=Checkpoint(resume_id=self.session_id, create_if_missing=True),
            events=self.events,
            prompter=self.prompter,
        )
        return await run(replace(options, **changes))

    async def follow_up(
        self, prompt: str, *answers: Response | Exception, force: bool = False
    ) -> RunOutcome:
        """Run a further turn of the bench's session."""
        checkpoint = Checkpoint(
            resume_id=self.session_id, follow_up=True, force=force, request="turn-2"
        )
        return await self.run(*answers, prompt=prompt, checkpoint=checkpoint)

    async def resume(
        self,
        *answers: Response | Exception,
        force: bool = False,
        approval: HeldApproval | None = None,
        answer: SuppliedAnswer | None = None,
    ) -> RunOutcome:
        """Go on with the bench's session without a new prompt."""
        checkpoint = Checkpoint(
            resume_id=self.session_id, force=force, approval=approval, answer=answer
        )
        return await self.run(*answers, prompt="", checkpoint=checkpoint)

    async def converse(
        self,
        said: Sequence[NextPrompt | str],
        *answers: Response | Exception,
        **changes: Unpack[Changes],
    ) -> RunOutcome:
        """Run with a person who says these things one after another and then leaves."""
        left = deque(said)

        async def next_prompt() -> NextPrompt:
            if not left:
                return NextPrompt(go_on=False)
            item = left.popleft()
            return NextPrompt(text=item) if isinstance(item, str) else item

        changes.setdefault("next_prompt", next_prompt)
        return await self.run(*answers, **changes)

    async def payloads(self) -> list[Payload | None]:
        """Return what the bench's session holds, oldest first."""
        return [record.payload for record in await self.store.records(self.session_id)]

    async def kinds(self) -> list[str]:
        """Return the kinds of the session's records, oldest first."""
        return [type(payload).__name__ for payload in await self.payloads()]
