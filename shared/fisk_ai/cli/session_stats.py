"""``fisk-ai session stats``: what a session cost, reply by reply and tool by tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fisk_ai.cli.session_calls import Call, calls_of
from fisk_ai.cli.session_document import tokens_line
from fisk_ai.cli.session_flags import parser_of, with_store
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.session_reading import Session, read_named
from fisk_ai.cli.session_table import label
from fisk_ai.cli.times import local_time
from fisk_ai.llm.model import Usage
from fisk_ai.render.tables import Document, within
from fisk_ai.render.width import terminal_width
from fisk_ai.sessions.listing import ended
from fisk_ai.sessions.records import Assistant, Record
from fisk_ai.text import clock
from fisk_ai.text.duration import go_duration

_NS = 1_000_000_000
_MINUTE_NS = 60 * _NS

_NAME_LEAST = 12
"""What may be left of a tool's name on a narrow terminal."""

_RESPONSES = ("Iteration", "In", "Out", "Cache read", "Cache write", "Thinking", "Total")
_TOOLS = ("Tool", "Kind", "Calls", "Dispatched", "Not run", "Unanswered", "Errors", "Time")


@dataclass(slots=True)
class _ToolStats:
    """All calls of one tool."""

    tool: str
    calls: list[Call] = field(default_factory=list[Call])

    @property
    def kinds(self) -> list[str]:
        return sorted({call.kind for call in self.calls} - {""})

    @property
    def dispatched(self) -> int:
        return sum(call.dispatched for call in self.calls)

    @property
    def undispatched(self) -> int:
        return sum(call.answer is not None and not call.dispatched for call in self.calls)

    @property
    def unanswered(self) -> int:
        return sum(call.answer is None for call in self.calls)

    @property
    def errors(self) -> int:
        return sum(call.status == "error" for call in self.calls)

    @property
    def timed(self) -> int:
        return sum(call.duration_ns is not None for call in self.calls)

    @property
    def untimed(self) -> int:
        """Calls that ended and have no time; one without any end has none to miss."""
        return sum(
            call.duration_ns is None and (call.answer is not None or call.deferred is not None)
            for call in self.calls
        )

    @property
    def duration_ns(self) -> int:
        return sum(call.duration_ns or 0 for call in self.calls)


def stats(argv: Sequence[str]) -> int:
    """Show what the session that the arguments name cost."""
    parser = parser_of("stats", "Show what a session cost.")
    parser.add_argument("id", help="the session's id, or its conversation's token")
    parser.switch("--json", "print JSON for other programs")
    arguments = parser.parse_args(argv)
    session = with_store(arguments, lambda store: read_named(store, arguments.id))
    tools = _by_tool(calls_of(session.records))
    if arguments.json:
        print(machine_text(_members(session, tools)))
    else:
        print("\n\n".join(_pages(session, tools)))
    return 0


def _by_tool(calls: Iterable[Call]) -> list[_ToolStats]:
    found: dict[str, _ToolStats] = {}
    for call in calls:
        found.setdefault(call.use.name, _ToolStats(call.use.name)).calls.append(call)
    return list(found.values())


def _replies(session: Session) -> list[tuple[Record, Assistant]]:
    return [
        (record, record.payload)
        for record in session.records
        if isinstance(record.payload, Assistant)
    ]


def _usage(reply: Assistant) -> Usage:
    return Usage(
        input=reply.in_tokens,
        output=reply.out_tokens,
        cache_read=reply.cache_read_tokens,
        cache_create=reply.cache_create_tokens,
        thinking=reply.thinking_tokens,
    )


def _ended(session: Session) -> str:
    return "" if session.state.status == "open" else ended(session.records)


def _members(session: Session, tools: Sequence[_ToolStats]) -> dict[str, object]:
    meta, state = session.state.meta, session.state
    status = state.status
    return present(
        run_id=session.run_id,
        agent=meta.agent,
        caller=meta.caller,
        model=meta.fingerprint.model,
        created=meta.created,
        updated=session.records[-1].time,
        terminal=None if status == "open" else status,
        ended=_ended(session),
        iterations=state.next_iteration,
        max_iterations=meta.fingerprint.max_iterations,
        max_tokens=meta.fingerprint.max_tokens,
        tokens=_token_members(state.counters.usage),
        responses=[
            present(
                iteration=reply.iteration, time=record.time, tokens=_token_members(_usage(reply))
            )
            for record, reply in _replies(session)
        ],
        tools=[_tool_members(tool) for tool in tools],
    )


def _token_members(usage: Usage) -> dict[str, object]:
    return {
        "in_tokens": usage.input,
        "out_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_create_tokens": usage.cache_create,
        "thinking_tokens": usage.thinking,
    }


def _tool_members(tool: _ToolStats) -> dict[str, object]:
    return {
        "tool": tool.tool,
        "kinds": tool.kinds,
        "calls": len(tool.calls),
        "dispatched": tool.dispatched,
        "undispatched": tool.undispatched,
        "unanswered": tool.unanswered,
        "errors": tool.errors,
        "duration_ns": tool.duration_ns,
        "timed": tool.timed,
        "untimed": tool.untimed,
    }


def _pages(session: Session, tools: Sequence[_ToolStats]) -> list[str]:
    pages = [_overview(session)]
    replies = [_response_row(reply) for _, reply in _replies(session)]
    if replies:
        pages.append(f"Model responses:\n\n{_table(_RESPONSES, replies)}")
    if tools:
        pages.append(f"Tools:\n\n{_table(_TOOLS, [_tool_row(tool) for tool in tools])}")
        pages.extend(filter(None, [_remarks(tools)]))
    return pages


def _overview(session: Session) -> str:
    meta, state = session.state.meta, session.state
    page = Document(f"Session {label(session.run_id)}")
    page.optional("Agent", label(meta.agent))
    page.optional("Caller", label(meta.caller))
    page.item("Model", label(meta.fingerprint.model))
    page.item("Status", state.status)
    page.item("Created", local_time(meta.created))
    page.optional("Ended", local_time(_ended(session)))
    most = meta.fingerprint.max_iterations
    bound = f" (at most {most} per turn)" if most > 0 else ""
    page.item("Iterations", f"{state.next_iteration}{bound}")
    page.optional("Wall clock", _wall_clock(meta.created, session.records[-1].time))
    page.item("Tokens", tokens_line(state.counters.usage, meta.fingerprint.max_tokens))
    return page.text()


def _wall_clock(created: str, updated: str) -> str:
    if not updated or created == clock.UNSET:
        return ""
    span_ns = clock.rfc3339_ns(updated) - clock.rfc3339_ns(created)
    return go_duration(span_ns // _NS) if span_ns >= 0 else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return within(header, rows, width=terminal_width(), least={0: _NAME_LEAST})


def _response_row(reply: Assistant) -> list[str]:
    usage = _usage(reply)
    total = usage.input + usage.output + usage.cache_read + usage.cache_create
    counts = (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_create,
        usage.thinking,
        total,
    )
    return [str(reply.iteration), *(f"{count:,}" for count in counts)]


def _tool_row(tool: _ToolStats) -> list[str]:
    counts = (
        len(tool.calls),
        tool.dispatched,
        tool.undispatched,
        tool.unanswered,
        tool.errors,
    )
    return [
        label(tool.tool),
        ", ".join(tool.kinds) or "-",
        *(f"{count:,}" for count in counts),
        _time(tool),
    ]


def _time(tool: _ToolStats) -> str:
    if not tool.timed:
        return "-"
    spent = _span(tool.duration_ns)
    if tool.timed == len(tool.calls):
        return spent
    return f"{spent} ({tool.timed} of {len(tool.calls)} calls)"


def _span(duration_ns: int) -> str:
    if duration_ns < _MINUTE_NS:
        return f"{duration_ns / _NS:.2f}s"
    return go_duration(round(duration_ns / _NS))


def _remarks(tools: Sequence[_ToolStats]) -> str:
    untimed = sum(tool.untimed for tool in tools)
    unanswered = sum(tool.unanswered for tool in tools)
    lines = [
        f"Untimed: {untimed} (no times around the call)" if untimed else "",
        f"Unanswered: {unanswered} (no result yet)" if unanswered else "",
    ]
    return "\n".join(filter(None, lines))
