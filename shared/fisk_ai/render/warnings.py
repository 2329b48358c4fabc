"""The wording of advisories: facts arrive as kind and fields, whoever shows them owns the words.

One sentence per kind; a kind from a newer agent is shown by its fields. The result is one line in
terminal form. The kinds are listed in ``docs/reference/warnings.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.contract import Advisory

SENTENCE_LIMIT = 400
"""Code points of one warning: an error inside may be as long as its author liked."""


def sentence(advisory: Advisory) -> str:
    """Return the advisory in words, as one sanitised line."""
    wording = _WORDINGS.get(advisory.kind, _fields)
    return for_terminal(wording(advisory), SENTENCE_LIMIT)


def _fields(advisory: Advisory) -> str:
    count = str(advisory.count) if advisory.count else ""
    parts = (advisory.kind, advisory.name, count, ", ".join(advisory.params), advisory.error)
    return ": ".join(part for part in parts if part)


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _told(text: str, *, because: bool = True) -> Callable[[Advisory], str]:
    """Return a wording: ``text`` with the advisory's fields, and its error behind it."""

    def words(advisory: Advisory) -> str:
        told = text.format(
            name=advisory.name, count=advisory.count, params=", ".join(advisory.params)
        )
        return f"{told}: {advisory.error}" if because and advisory.error else told

    return words


def _confirm_no_terminal(advisory: Advisory) -> str:
    gated = _counted(advisory.count, "tool needs", "tools need")
    return f"{gated} a person's approval, and nobody can be asked here: such calls are denied"


def _missing_required(advisory: Advisory) -> str:
    missing = ", ".join(advisory.params) or advisory.error or "required arguments"
    return f'the model called "{advisory.name}" without {missing}; the call was not run'


def _resume_paused_turn(advisory: Advisory) -> str:
    finishing = _counted(advisory.count, "call", "calls") if advisory.count else "what was open"
    return f"the conversation stopped part way through a turn; finishing {finishing} first"


def _tool_search_unsupported(advisory: Advisory) -> str:
    tools = _counted(advisory.count, "tool is", "tools are")
    return f"{tools} sent with every request, because the provider has no tool search"


def _tool_timeout(advisory: Advisory) -> str:
    reason = f" ({advisory.error})" if advisory.error else ""
    return f'"{advisory.name}" was stopped at its time limit{reason}; harness.tool_timeout sets it'


def _approvals_dropped(advisory: Advisory) -> str:
    grants = _counted(advisory.count, "standing approval was", "standing approvals were")
    return f"{grants} dropped, because the tools or the configuration changed since"


def _drift(what: str) -> Callable[[Advisory], str]:
    def words(advisory: Advisory) -> str:
        differences = f": {'; '.join(advisory.params)}" if advisory.params else ""
        return f"{what} changed since this conversation began{differences}"

    return words


_PROMPT = "the prompt"
"""What a scan calls a person's words; any other name is a tool's."""


def _pii(verb: str) -> Callable[[Advisory], str]:
    def words(advisory: Advisory) -> str:
        where = advisory.name if advisory.name == _PROMPT else f'the result of "{advisory.name}"'
        if advisory.error:
            return (
                f"{where} could not be scanned for personal data and was {verb}: {advisory.error}"
            )
        found = _counted(advisory.count, "piece", "pieces")
        kinds = f" ({', '.join(advisory.params)})" if advisory.params else ""
        return f"{found} of personal data{kinds} in {where} {_were(advisory.count)} {verb}"

    return words


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _mcp_tools_changed(advisory: Advisory) -> str:
    if advisory.error:
        return (
            f'the tools of MCP server "{advisory.name}" could not be listed again, so the old '
            f"ones stay: {advisory.error}"
        )
    changes = "; ".join(advisory.params)
    return f'the tools of MCP server "{advisory.name}" changed: {changes}'


_WORDINGS: Mapping[str, Callable[[Advisory], str]] = {
    "hitl_no_terminal": _told(
        "the agent may ask questions, and nobody can be asked here: it is told so"
    ),
    "confirm_no_terminal": _confirm_no_terminal,
    "confirm_tag_unmatched": _told(
        'harness.confirm_tags names "{name}", which no tool carries: it gates nothing'
    ),
    "confirm_denied": _told('"{name}" was not run'),
    "policy_denied": _told('"{name}" was refused by a hook and not run'),
    "call_in_doubt": _told('"{name}" was not run again'),
    "approval_spent": _told(
        'the approval of "{name}" was spent by a run that was cut off during this call, so it '
        "does not count again"
    ),
    "unknown_tool": _told(
        'the model called "{name}", which is not one of its tools', because=False
    ),
    "missing_required": _missing_required,
    "arguments_too_deep": _told(
        'the model called "{name}" with arguments nested more than {count} levels deep; the call '
        "was not run"
    ),
    "prompt_denied": _told("the prompt was refused: {name}"),
    "run_end_hook": _told("a hook failed when the run had ended"),
    "max_iterations_interactive": _told(
        "the turn used up its {count} iterations (llm.budget.max_iterations); the next prompt may "
        "go on with it"
    ),
    "turn_error_interactive": _told("the turn failed, and the conversation goes on"),
    "journal_terminal": _told("the end of the run could not be journaled"),
    "journal_user": _told("the prompt could not be journaled, so it was not sent"),
    "journal_memory_revisions": _told("what the run knew of the memory could not be journaled"),
    "journal_close": _told("the journal could not be closed"),
    "session_rotate": _told(
        "no new session could be begun, so the conversation goes on in this one"
    ),
    "resume_paused_turn": _resume_paused_turn,
    "memory_index": _told("the memory could not be listed, so the model is not told what is in it"),
    "knowledge_index_absent": _told(
        "no knowledge index has been built, so searches of it find nothing"
    ),
    "trace_write": _told("the trace is incomplete, because a line could not be written"),
    "trace_close": _told("the trace could not be closed, so its end may be missing"),
    "tool_search_unsupported": _tool_search_unsupported,
    "unknown_reserved_tag": _told(
        '"{name}" carries reserved tags that mean nothing here: {params}', because=False
    ),
    "behavior_tag_conflict": _told(
        '"{name}" carries tags that contradict each other ({params}); the dangerous one counts',
        because=False,
    ),
    "tool_timeout": _tool_timeout,
    "tool_deferred": _told('"{name}" answers later, and the run waits for it'),
    "approvals_dropped": _approvals_dropped,
    "config_drift": _drift("the configuration"),
    "tool_set_drift": _drift("the tools"),
    "budget_drift": _drift("the budget"),
    "pii_redacted": _pii("redacted"),
    "pii_withheld": _pii("withheld"),
    "remote_tag_filter_ignored": _told(
        'agent "{name}" does not say how its tools are tagged, so the tag filter is ignored'
    ),
    "remote_tools_skipped": _told('tools of agent "{name}" were left out: {params}'),
    "remote_no_tools": _told('agent "{name}" contributes no tools'),
    "mcp_tools_changed": _mcp_tools_changed,
}

WORDED_KINDS = frozenset(_WORDINGS)
"""Every kind with a sentence of its own."""

ASSEMBLY_KINDS = frozenset(
    {
        "hitl_no_terminal",
        "confirm_no_terminal",
        "confirm_tag_unmatched",
        "tool_search_unsupported",
        "unknown_reserved_tag",
        "behavior_tag_conflict",
    }
)
"""Kinds that say how an agent is put together: every turn of a chat finds them anew."""
