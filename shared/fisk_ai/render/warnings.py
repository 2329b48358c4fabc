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


def _confirm_no_terminal(advisory: Advisory) -> str:
    gated = _counted(advisory.count, "tool needs", "tools need")
    return (
        f"{gated} a person's approval and nobody can be asked, so such calls are denied; run it "
        "at a terminal to be asked"
    )


def _confirm_tag_unmatched(advisory: Advisory) -> str:
    return f'harness.confirm_tags names "{advisory.name}", which no tool carries: it gates nothing'


def _confirm_denied(advisory: Advisory) -> str:
    return f'"{advisory.name}" was not run: {advisory.error}'


def _call_in_doubt(advisory: Advisory) -> str:
    return f'"{advisory.name}" was not run again: {advisory.error}'


def _unknown_tool(advisory: Advisory) -> str:
    return f'the model called "{advisory.name}", which is not one of its tools'


def _missing_required(advisory: Advisory) -> str:
    missing = ", ".join(advisory.params) or advisory.error or "required arguments"
    return f'the model called "{advisory.name}" without {missing}; the call was not run'


def _journal(what: str) -> Callable[[Advisory], str]:
    return lambda advisory: f"{what}: {advisory.error}"


def _resume_paused_turn(advisory: Advisory) -> str:
    finishing = _counted(advisory.count, "call", "calls") if advisory.count else "what was open"
    return f"the conversation stopped part way through a turn; finishing {finishing} first"


def _tool_search_unsupported(advisory: Advisory) -> str:
    tools = _counted(advisory.count, "tool is", "tools are")
    return f"{tools} sent with every request, because the provider has no tool search"


def _unknown_reserved_tag(advisory: Advisory) -> str:
    tags = ", ".join(advisory.params)
    return f'"{advisory.name}" carries reserved tags that mean nothing here: {tags}'


def _behavior_tag_conflict(advisory: Advisory) -> str:
    tags = ", ".join(advisory.params)
    return (
        f'"{advisory.name}" carries tags that contradict each other ({tags}); '
        "the dangerous one counts"
    )


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


_WORDINGS: Mapping[str, Callable[[Advisory], str]] = {
    "confirm_no_terminal": _confirm_no_terminal,
    "confirm_tag_unmatched": _confirm_tag_unmatched,
    "confirm_denied": _confirm_denied,
    "call_in_doubt": _call_in_doubt,
    "unknown_tool": _unknown_tool,
    "missing_required": _missing_required,
    "journal_terminal": _journal("the end of the run could not be journaled"),
    "journal_close": _journal("the journal could not be closed"),
    "resume_paused_turn": _resume_paused_turn,
    "tool_search_unsupported": _tool_search_unsupported,
    "unknown_reserved_tag": _unknown_reserved_tag,
    "behavior_tag_conflict": _behavior_tag_conflict,
    "tool_timeout": _tool_timeout,
    "approvals_dropped": _approvals_dropped,
    "config_drift": _drift("the configuration"),
    "tool_set_drift": _drift("the tools"),
    "budget_drift": _drift("the budget"),
}

WORDED_KINDS = frozenset(_WORDINGS)
"""Every kind with a sentence of its own."""
