"""The document that ``fisk-ai session show`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.cli.session_advice import Advice, mark_of, running
from fisk_ai.cli.session_reading import Session
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Waiting, is_parked, waiting
from fisk_ai.llm.model import Usage
from fisk_ai.render.tables import Document
from fisk_ai.sessions.records import Deferred, Terminal, ToolResult
from fisk_ai.sessions.state import Counters, RunState
from fisk_ai.text.sanitise import for_display, for_terminal, truncate

NOTE_LIMIT = 200
HANDLE_LIMIT = 100
QUESTION_LIMIT = 1_000
PROMPT_LIMIT = 200
"""Code points of what a journal says; a document is read at a glance."""


def document(session: Session, advice: Advice) -> str:
    """Return the state of a session for a person; every string of the journal is sanitised."""
    state = session.state
    page = Document(f"Session {label(session.run_id)}")
    _identify(page, session)
    _count(page, state)
    _say_what_waits(page, session, advice)
    prompt = truncate(for_display(state.meta.prompt), PROMPT_LIMIT)
    page.section("Prompt", prompt.split("\n") if prompt else [])
    return page.text()


def _identify(page: Document, session: Session) -> None:
    meta = session.state.meta
    page.optional("Caller", label(meta.caller))
    if meta.conversation_token:
        token = label(meta.conversation_token)
        page.item("Conversation token", f"{token} (a caller sends this to continue)")
    page.item("Status", session.state.status)
    page.optional("Running", running(session) if session.holder else "")
    page.item("Model", label(meta.fingerprint.model))


def _count(page: Document, state: RunState) -> None:
    counters = state.counters
    page.item("Next iter", str(state.next_iteration))
    page.item("LLM calls", str(counters.llm_calls))
    page.item("Tool calls", _tool_calls(counters))
    page.item("Tokens", tokens_line(counters.usage, state.meta.fingerprint.max_tokens))


def _tool_calls(counters: Counters) -> str:
    remote, mcp = counters.remote_tool_calls, counters.mcp_tool_calls
    return f"{counters.tool_calls} (remote {remote}, mcp {mcp})"


def tokens_line(usage: Usage, budget: int) -> str:
    """Return what was spent, all four tiers together and apart, against ``budget`` above zero."""
    total = usage.input + usage.output + usage.cache_read + usage.cache_create
    tiers = [f"{usage.input} in", f"{usage.output} out"]
    if usage.cache_read:
        tiers.append(f"{usage.cache_read} cache read")
    if usage.cache_create:
        tiers.append(f"{usage.cache_create} cache write")
    bound = f" of {budget} budget" if budget > 0 else ""
    return f"{total}{bound} ({' / '.join(tiers)})"


def _say_what_waits(page: Document, session: Session, advice: Advice) -> None:
    state = session.state
    found = waiting(session)
    items = [item for item in found if not item.is_approved]
    page.optional("Pending", _batch(session, items))
    grants = ", ".join(label(name) for name in state.standing_grants)
    page.optional("Approvals", grants)
    deferrals = {each.tool_use_id: each for each in state.open_deferrals}
    lines: list[str] = []
    for item in items:
        lines.append(_headline(item, deferrals.get(item.tool_use_id)))
        lines += (f"  {line}" for line in advice.lines(item))
    if any(item.is_unasked or item.in_doubt for item in items):
        lines += advice.resume()
    page.section("Waiting on", lines)
    decided = _decided(session, found)
    if decided and not items and not session.holder:
        decided += advice.resume()
    page.section("Decided", decided)


def _decided(session: Session, found: Sequence[Waiting]) -> list[str]:
    """Return what was decided from outside since a run parked, and no run has acted on."""
    lines = [f"{_headline(item, None)}: approved" for item in found if item.is_approved]
    if not is_parked(session.records):
        return lines
    answers: list[str] = []
    for record in reversed(session.records):
        if isinstance(record.payload, Terminal):
            break
        if isinstance(record.payload, ToolResult):
            said = for_terminal(record.payload.result.content, NOTE_LIMIT)
            answers.append(f"{label(record.payload.tool_use_id)}: {said}")
    return [*lines, *reversed(answers)]


def _batch(session: Session, items: Sequence[Waiting]) -> str:
    """Say what becomes of calls without a result, and which of them may have run."""
    if session.state.pending is None:
        return ""
    if session.holder:
        return "a tool batch is under way"
    resumed = "an in-flight tool batch will resume first"
    doubtful = [item.tool_use_id for item in items if item.in_doubt]
    return (
        f"{resumed}; call {label(doubtful[0])} of it may have run already" if doubtful else resumed
    )


def _headline(item: Waiting, deferred: Deferred | None) -> str:
    call = label(item.tool_use_id)
    if item.kind == "deferred" and deferred is not None:
        return f"{call} -> {label(item.tool)}{deferral(deferred)}"
    return f"{call} ({mark_of(item)}): {for_terminal(item.question, QUESTION_LIMIT)}"


def deferral(item: Deferred) -> str:
    """Return what a call that answers later said of it, to stand behind a word."""
    note = for_terminal(item.note, NOTE_LIMIT)
    handle = for_terminal(item.handle, HANDLE_LIMIT)
    said = f": {note}" if note else ""
    return f"{said} ({handle})" if handle else said
