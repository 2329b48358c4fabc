"""What a run is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fisk_ai.agent.events import DiscardEvents, EventSink
from fisk_ai.agent.hooks import Hooks
from fisk_ai.agent.stats import Stats
from fisk_ai.config import Config
from fisk_ai.llm.provider import Provider
from fisk_ai.llm.trace import TraceSummary
from fisk_ai.memory.store import MemoryStore
from fisk_ai.sessions.records import Reason
from fisk_ai.sessions.store import Store
from fisk_ai.toolkit.contract import Advisory, Tool
from fisk_ai.toolkit.prompter import Choice, DefaultDenyPrompter, Prompter


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldApproval:
    """A person's decision that arrived after its question closed, for one call alone.

    An empty ``args_sha256`` counts by the call's id; any other binds to those arguments.
    """

    tool_use_id: str
    choice: Choice
    args_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppliedAnswer:
    """The answer of a deferred call, given from outside; it becomes the call's result.

    ``tool_name`` is the tool ``content`` was rendered for; empty fits any. The deferral of another
    tool is not answered by it, and the run parks again.
    """

    tool_use_id: str
    content: str
    is_error: bool = False
    tool_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How a run journals.

    ``resume_id`` names the session; ``create_if_missing`` starts it when it is not there;
    ``follow_up`` adds a turn to one that is; ``answer`` completes a deferred call first.
    ``take_over`` takes it from a holder that does not answer: the lease of whoever had this very
    work is over. ``request`` is the tag of the message behind this run and ``conversation_token``
    its caller's secret; both are recorded, never decided on.
    """

    enabled: bool = True
    name: str = ""
    resume_id: str = ""
    force: bool = False
    create_if_missing: bool = False
    follow_up: bool = False
    take_over: bool = False
    conversation_token: str = ""
    caller: str = ""
    request: str = ""
    approval: HeldApproval | None = None
    answer: SuppliedAnswer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPrompt:
    """What a person at an interactive run did.

    ``go_on`` false ends the run and keeps the session. ``reset`` forgets the conversation before
    ``text``, which may be empty: then the next text opens the new one.
    """

    text: str = ""
    reset: bool = False
    go_on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Bounds a caller asks for; they can lower the configured ones and never raise them."""

    max_tokens: int = 0
    max_iterations: int = 0


class RunTrace(Protocol):
    """A trace of the model's traffic, told how each run ended."""

    async def summary(self, summary: TraceSummary) -> None:
        """Write what a run did; never raises."""
        ...

    def take_failure(self) -> str:
        """Return why a line could not be written, once; empty while everything was."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything one run needs; what is injected is used and never closed.

    ``app_tools`` are the application's commands, introspected once per process and selected
    already; ``app_advisories`` is what loading them found, told at the start of every run.
    ``remote_tools`` are those of peers, imported once per process.
    ``suspend_requested`` is polled before each model call and each tool of a run that journals.
    ``tool_work_dir`` and ``store_dir``, where relative paths of built-in tools start, must be
    existing absolute directories when given. ``next_prompt`` makes the run interactive: it is
    asked after each turn, and raises :class:`~fisk_ai.errors.PromptAbortedError` where the person
    has gone. ``memory_store`` is needed where the configuration enables memory. ``trace`` is told
    how the run ended.
    """

    config: Config
    provider: Provider
    session_store: Store
    app_tools: Sequence[Tool] = ()
    app_advisories: Sequence[Advisory] = ()
    remote_tools: Sequence[Tool] = ()
    custom_tools: Sequence[Tool] = ()
    prompt: str = ""
    context: str = ""
    checkpoint: Checkpoint | None = None
    claimed_by: str = ""
    suspend_requested: Callable[[], bool] = lambda: False
    human_paced: bool = False
    verbose: bool = False
    tool_work_dir: Path | None = None
    store_dir: Path | None = None
    budget: Budget = field(default_factory=Budget)
    events: EventSink = field(default_factory=DiscardEvents)
    prompter: Prompter = field(default_factory=DefaultDenyPrompter)
    next_prompt: Callable[[], Awaitable[NextPrompt]] | None = None
    hooks: Hooks = field(default_factory=Hooks)
    memory_store: MemoryStore | None = None
    trace: RunTrace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredCall:
    """An open deferral a run ended on."""

    tool_use_id: str
    tool_name: str
    note: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended; present even when an error is beside it.

    ``reason`` is empty for a failed set-up and for a crash, and ``error`` where a hook denied the
    first prompt. ``text`` is the prose of the last assistant turn that had any. ``stats`` is
    ``None`` for a run that failed before it began.
    """

    reason: Reason | None = None
    session_id: str = ""
    text: str = ""
    stats: Stats | None = None
    deferred: tuple[DeferredCall, ...] = ()
    follow_up_taken: bool = False
    crashed: bool = False


RunOutcome = tuple[RunResult, Exception | None]
"""A library call never loses the counters of a failed run: it returns both."""
