"""The document that ``fisk-ai session show`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fisk_ai.cli.session_reading import Session
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Kind, Waiting, options_of, waiting
from fisk_ai.llm.model import Usage
from fisk_ai.render.tables import Document
from fisk_ai.sessions.records import Deferred
from fisk_ai.sessions.state import Counters, RunState
from fisk_ai.text.sanitise import for_display, for_terminal, truncate

NOTE_LIMIT = 200
HANDLE_LIMIT = 100
QUESTION_LIMIT = 1_000
PROMPT_LIMIT = 200
"""Code points of what a journal says; a document is read at a glance."""

_ANSWERS: Mapping[Kind, str] = {
    "approve": ", or deny in place of approve",
    "confirm": " --confirm yes|no",
    "select": " --select OPTION",
    "input": " --input TEXT",
}
"""What stands behind the command that decides."""


def document(session: Session, command: Callable[[Sequence[str]], str]) -> str:
    """Return the state of a session for a person; every string of the journal is sanitised.

    ``command`` completes the words of a command, so that it finds the session again.
    """
    state = session.state
    page = Document(f"Session {label(session.run_id)}")
    _identify(page, state)
    _count(page, state)
    _say_what_waits(page, session, command)
    prompt = truncate(for_display(state.meta.prompt), PROMPT_LIMIT)
    page.section("Prompt", prompt.split("\n") if prompt else [])
    return page.text()


def _identify(page: Document, state: RunState) -> None:
    meta = state.meta
    page.optional("Caller", label(meta.caller))
    if meta.conversation_token:
        token = label(meta.conversation_token)
        page.item("Conversation token", f"{token} (a caller sends this to continue)")
    page.item("Status", state.status)
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


def _say_what_waits(
    page: Document, session: Session, command: Callable[[Sequence[str]], str]
) -> None:
    state = session.state
    if state.pending is not None:
        page.item("Pending", "an in-flight tool batch will resume first")
    grants = ", ".join(label(name) for name in state.standing_grants)
    page.optional("Approvals", grants)
    items = waiting(session)
    lines = [line for item in items for line in _asked(session.run_id, item, command)]
    others = {item.tool_use_id for item in items if item.kind == "deferred"}
    lines += [_waiting(each) for each in state.open_deferrals if each.tool_use_id in others]
    if others:
        lines.append("Answer one on a request carrying this conversation's token.")
    page.section("Waiting on", lines)


def _asked(
    session_id: str, item: Waiting, command: Callable[[Sequence[str]], str]
) -> Iterator[str]:
    """Say what a person is asked, and how they decide."""
    if item.kind == "deferred" or item.is_approved:
        return
    yield f"{label(item.tool_use_id)} ({item.kind}): {for_terminal(item.question, QUESTION_LIMIT)}"
    yield from (f"  option: {option}" for option in options_of(item))
    if not item.is_deferred and item.kind != "approve":
        yield "  the next run asks again"
        return
    verb = "approve" if item.kind == "approve" else "answer"
    words = command(("session", verb, session_id, label(item.tool_use_id)))
    yield f"  decide with: {words}{_ANSWERS[item.kind]}"


def _waiting(item: Deferred) -> str:
    return f"{label(item.tool_use_id)} -> {label(item.tool_name)}{deferral(item)}"


def deferral(item: Deferred) -> str:
    """Return what a call that answers later said of it, to stand behind a word."""
    note = for_terminal(item.note, NOTE_LIMIT)
    handle = for_terminal(item.handle, HANDLE_LIMIT)
    said = f": {note}" if note else ""
    return f"{said} ({handle})" if handle else said
