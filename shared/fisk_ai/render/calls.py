"""One tool call and one tool result as a person reads them.

Both depend on the call alone, so that a live run, a replay and a transcript show the same line.
Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from fisk_ai.a2a.blocks import TRIM_NOTE
from fisk_ai.text import gojson
from fisk_ai.text.sanitise import for_display, for_terminal
from fisk_ai.toolkit import envelope

VALUE_LIMIT = 96
"""Code points of a name or a value: a line should show what is done, not the whole text."""

NAME_LIMIT = 120
"""Code points of a tool's or a task's name."""

UNANSWERED = "(no result yet)"
"""What became of a stored call that nothing answered: it never ran, or was cut off."""

NOT_SHOWN = "… arguments not shown"
"""What stands for arguments that are not here, since they fit no message, or are no JSON object."""

CUT = "\n(cut)"
"""What stands behind a text whose end is not here, unless a note of its sender does."""

CUT_FOR_STREAM = "\n(cut; fisk-ai session show ID --transcript has all of it)"
"""What stands for the note of an agent of ours, which names what no person knows."""

_SHOWN_ARGUMENTS: Mapping[str, str] = {
    "memory_read": "key",
    "memory_write": "key",
    "memory_delete": "key",
    "knowledge_search": "query",
}
"""Tools whose other arguments are long texts of no use in one line."""


def call_line(name: str, raw: bytes) -> str:
    """Return ``name(argument:"text", other:5)`` for the JSON text of a call's arguments.

    Arguments that are no JSON object, or not here and so empty, show as :data:`NOT_SHOWN`.
    """
    arguments = _arguments(raw.decode(errors="replace").encode())
    if arguments is None:
        return f"{for_terminal(name, NAME_LIMIT)}({NOT_SHOWN})"
    only = _SHOWN_ARGUMENTS.get(name)
    if only is not None:
        arguments = {key: value for key, value in arguments.items() if key == only}
    shown = (
        f"{for_terminal(key, VALUE_LIMIT)}:{_value(arguments[key])}" for key in sorted(arguments)
    )
    return f"{for_terminal(name, NAME_LIMIT)}({', '.join(shown)})"


def _arguments(raw: bytes) -> dict[str, bytes] | None:
    try:
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return _repaired(raw)
    return {key: bytes(value) for key, value in parts.items()}


def _repaired(raw: bytes) -> dict[str, bytes] | None:
    """Read text that only a tolerant reader takes: a lone surrogate becomes U+FFFD."""
    try:
        decoded = gojson.loads(raw)
    except ValueError:
        return None
    if not isinstance(decoded, dict):
        return None
    items: dict[str, object] = decoded  # pyright: ignore[reportUnknownVariableType] - a JSON object's keys are text
    return {key: json.dumps(value, ensure_ascii=False).encode() for key, value in items.items()}


def _value(raw: bytes) -> str:
    if raw.startswith(b'"'):
        return f'"{for_terminal(str(gojson.loads(raw)), VALUE_LIMIT)}"'
    if raw == b"null":
        return '""'
    return for_terminal(gojson.compact(raw).decode("utf-8", "replace"), VALUE_LIMIT)


def result_text(output: str, *, is_error: bool) -> str:
    """Return what a call gave back, in display form.

    A command's envelope is unwrapped, and one whose end was cut off as far as it goes.
    """
    if is_error:
        return _joined("(error)", _shown(output))
    command = envelope.parse(output)
    if command is not None:
        return _printed(command, command.output)
    cut = envelope.parse_beginning(output)
    if cut is not None:
        command, note = cut
        behind = CUT_FOR_STREAM if note == TRIM_NOTE else note or CUT
        return _printed(command, f"{command.output}{behind}")
    return _shown(output) or "(no output)"


def _printed(command: envelope.Envelope, output: str) -> str:
    text = _shown(output)
    if command.exit_code != 0:
        return _joined(f"(exit {command.exit_code})", text)
    return text or "(no output)"


def fate(output: str, *, is_error: bool) -> str:
    """Return what became of an answered call, empty for one that ran.

    A refusal of the confirm gate is known by its form; it is no error of the call.
    """
    if _is_refusal(output):
        return "(refused)"
    return "(error)" if is_error else ""


def _is_refusal(output: str) -> bool:
    if not output.startswith('{"allowed":false'):
        return False
    try:
        decoded = gojson.loads(output)
    except ValueError:
        return False
    return isinstance(decoded, dict) and "reason" in decoded


def _shown(output: str) -> str:
    return for_display(output).rstrip("\n")


def _joined(lead: str, text: str) -> str:
    return f"{lead} {text}" if text else lead
