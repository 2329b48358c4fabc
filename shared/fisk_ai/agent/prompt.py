"""The words the harness puts around a person's own: system blocks and the first message.

The operator's prompt comes first, then the notes of the harness; both enter the fingerprint, a
note by its id. What is appended behind them never does: a reworded reminder or another memory
refuses no session.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.agent.notes import Note
from fisk_ai.llm.model import TextBlock
from fisk_ai.text.sanitise import clean_surrogates

DEFAULT_PROMPT = "assist the user"
"""What a run is told that was given no prompt at all."""

RESUME_REMINDER = (
    "This conversation was interrupted and has just been resumed. Results of tools further up "
    "may be out of date: check again whatever you rely on before you change anything."
)


def system_blocks(operator_prompt: str, notes: Sequence[Note], *, resumed: bool) -> tuple[str, ...]:
    """Return the system blocks of every call of a run, in order, but for the memory's index."""
    reminder = (RESUME_REMINDER,) if resumed else ()
    return (operator_prompt, *(note.text for note in notes), *reminder)


def of_new_session(blocks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the blocks of a run that left its session for a new one: nothing is resumed there."""
    return tuple(block for block in blocks if block != RESUME_REMINDER)


def first_prompt(prompt: str) -> str:
    """Return the text that opens a session; an empty prompt gets the fixed default."""
    return clean_surrogates(prompt) or DEFAULT_PROMPT


def context_blocks(context: str) -> tuple[TextBlock, ...]:
    """Return the second part of a user message; nothing for a run without context."""
    return (TextBlock(clean_surrogates(context)),) if context else ()


def follow_up_blocks(prompt: str, context: str) -> tuple[TextBlock, ...]:
    """Return the user message of a further turn."""
    return (TextBlock(clean_surrogates(prompt)), *context_blocks(context))
