"""The line view: a conversation as lines, the answer on standard output, the rest on the other.

What arrives is untrusted text; every line is sanitised here. A live answer is held until the turn
ends, so that it is printed once, whole, and last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TextIO

from fisk_ai.render import calls, warnings
from fisk_ai.render.markdown import styled, wants_style
from fisk_ai.render.width import columns_of
from fisk_ai.text.sanitise import for_display, for_terminal
from fisk_ai.toolkit.contract import Advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """What the reader asked for; ``lead`` begins every warning."""

    lead: str = "warning"
    no_color: bool = False
    show_thinking: bool = False
    show_results: bool = False


@dataclass(slots=True)
class LineView:
    """Prints one turn; ``out`` receives the answer alone."""

    out: TextIO
    err: TextIO
    options: LineOptions = field(default_factory=LineOptions)
    _answer: list[str] = field(default_factory=list[str])
    _replaying: bool = False
    _held: str = ""
    """A call of the replay whose result, the block behind it, says what became of it."""
    _known: set[Advisory] = field(default_factory=set[Advisory])
    """What was told of the agent itself, which is no news when another turn begins."""

    def text(self, text: str, *, final: bool) -> None:
        """Show prose: narration at once, a live answer when the turn ends.

        The answers of earlier turns in a replay are history, not the result of this command.
        """
        if final and not self._replaying:
            self._answer.append(text)
        elif text:
            self._print(self.err, text)

    def thinking(self, text: str) -> None:
        """Show reasoning, for whoever asked for it."""
        if self.options.show_thinking and text:
            self.note(f"\n[thinking]\n{for_display(text)}")

    def prompt(self, text: str) -> None:
        """Show a prompt of the replayed conversation."""
        self.note(f"\n> {for_display(text)}")

    def tool_call(self, name: str, arguments: bytes) -> None:
        """Show a call that is about to run; in a replay, together with what became of it."""
        line = f"-> {calls.call_line(name, arguments)}"
        if not self._replaying:
            self.note(line)
            return
        self._settle(calls.UNANSWERED)
        self._held = line

    def agent_call(self, name: str, task: str) -> None:
        """Show a task given to another agent."""
        limit = calls.NAME_LIMIT
        self.note(f"-> {for_terminal(name, limit)} ({for_terminal(task, limit)})")

    def tool_result(self, output: str, *, is_error: bool) -> None:
        """Show what a call gave back, for whoever asked for it."""
        self._settle(calls.fate(output, is_error=is_error))
        if self.options.show_results:
            self.note(f"<-\n{calls.result_text(output, is_error=is_error)}")

    def warning(self, advisory: Advisory) -> None:
        """Show an advisory in words; one that tells of the agent itself, once."""
        if advisory in self._known:
            return
        if advisory.kind in warnings.ASSEMBLY_KINDS:
            self._known.add(advisory)
        self.warn(warnings.sentence(advisory))

    def warn(self, message: str) -> None:
        """Show a warning that is already worded."""
        self.note(f"{self.options.lead}: {message}")

    def replay_start(self) -> None:
        """Open the history of a resumed conversation."""
        self._replaying = True
        self.note("\n--- resuming ---")

    def replay_end(self, count: int, *, truncated: bool) -> None:
        """Close the history; ``count`` blocks of it were shown."""
        self._settle(calls.UNANSWERED)
        self._replaying = False
        if truncated:
            self.note(f"\n(showing the last {count} of a longer conversation)")
        self.note("\n--- continuing ---")

    def answer(self, text: str = "") -> bool:
        """Print the answer once: ``text`` of the terminal message, else the blocks that came.

        The terminal's text is whole where a block may have been trimmed for the stream. Whether
        there was anything to read is returned.
        """
        answer = text or "".join(self._answer)
        self._answer.clear()
        if answer:
            self._print(self.out, answer)
        return bool(answer.strip())

    def forget(self) -> None:
        """Drop the parts of an answer that never came to its end."""
        self._answer.clear()

    def note(self, line: str) -> None:
        """Print a line that is already sanitised beside the answer."""
        self._settle(calls.UNANSWERED)
        print(line, file=self.err, flush=True)

    def _settle(self, fate: str) -> None:
        """Print the call that is held back, with what became of it."""
        if self._held:
            line, self._held = self._held, ""
            self.note(f"{line} {fate}" if fate else line)

    def _print(self, stream: TextIO, text: str) -> None:
        self._settle(calls.UNANSWERED)
        clean = for_display(text)
        if wants_style(stream, no_color=self.options.no_color):
            clean = styled(clean, width=columns_of(stream))
        print(clean.rstrip("\n"), file=stream, flush=True)
