"""What a person is told of a call that waits: who decides about it, and how.

One sentence for each way, wherever it is told. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.cli.handles import SCRIPTED
from fisk_ai.cli.session_flags import command_of
from fisk_ai.cli.session_reading import Session
from fisk_ai.cli.session_table import label
from fisk_ai.cli.session_waiting import Kind, Waiting, options_of

UNASKED = (
    "still to be asked: resume the session at a terminal, which asks it; elsewhere the agent is "
    "told that nobody is there"
)
IN_DOUBT = (
    "in doubt, for it may have run already when its process ended, and an approval from before "
    "that does not count: resume the session at a terminal, which asks about a call that may do "
    "harm and repeats any other; elsewhere the agent is told that the outcome of such a call is "
    "unknown"
)
"""What a call is about which only a resumed run asks; each stands behind 'is'."""

_ANSWERS: Mapping[Kind, str] = {
    "approve": ", or deny in place of approve",
    "confirm": " --confirm yes|no",
    "select": " --select OPTION",
    "input": " --input TEXT",
}
"""What stands behind the command that decides."""


def standing(item: Waiting) -> str:
    """Say why no answer or approval can be recorded for a call; empty where one can."""
    if item.kind == "deferred":
        return (
            f"not a person's to answer: the program behind its tool {label(item.tool)} does, with "
            "fisk_ai.sessions.supply.supply"
        )
    if item.is_unasked:
        return UNASKED
    return IN_DOUBT if item.in_doubt else ""


def mark_of(item: Waiting) -> str:
    """Return the kind of a call, marked where it takes no answer or approval now."""
    if item.is_unasked:
        return f"{item.kind}, unasked"
    return "in doubt" if item.in_doubt else item.kind


def running(session: Session) -> str:
    """Say that a process runs the session, and where to decide what it asks."""
    return f"in another process ({session.holder}): what it asks is answered there"


_WHERE = (
    "type it in the folder where the run was started, which an agent without a root_directory"
    " works in"
)
"""No session says where that was."""


@dataclass(frozen=True, slots=True)
class Advice:
    """How to go on with one session, in commands that find it again by the flags typed."""

    session: Session
    arguments: argparse.Namespace

    def lines(self, item: Waiting) -> Iterator[str]:
        """Say what a question offers, and what decides about a call."""
        yield from (f"option: {option}" for option in options_of(item))
        reason = standing(item)
        if reason:
            yield reason
            if item.kind == "approve" and item.parked:
                yield f"refuse it with: {self._command('deny', item)}"
            return
        verb = "approve" if item.kind == "approve" else "answer"
        lead = "decide, once that process has ended, with" if self.session.holder else "decide with"
        yield f"{lead}: {self._command(verb, item)}{_ANSWERS[item.kind]}"

    def resume(self) -> list[str]:
        """Return the command that goes on, and line by line what only the person knows of it."""
        resume = command_of(("run", "--resume", self.session.run_id), self.arguments)
        notes: list[str] = []
        if self.session.state.meta.fingerprint.provider == SCRIPTED:
            resume += " --script FILE"
            notes.append("FILE is the script that played the model")
        if not self.arguments.config:
            notes.append("run it beside the agent's agent.yaml, or add --config with that file")
        if not self.arguments.root_dir and not resume.startswith("cd "):
            notes.append(_WHERE)
        return [f"resume with: {resume}", *notes]

    def _command(self, verb: str, item: Waiting) -> str:
        words: Sequence[str] = ("session", verb, self.session.run_id, label(item.tool_use_id))
        return command_of(words, self.arguments)
