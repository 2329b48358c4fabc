"""The words the harness puts around a person's own: system blocks and the first message.

The operator's prompt comes first and alone enters the fingerprint; what is appended on a resume
never does, so a reworded reminder refuses no session.
"""

from __future__ import annotations

from fisk_ai.llm.model import TextBlock
from fisk_ai.text.sanitise import clean_surrogates

DEFAULT_PROMPT = "assist the user"
"""What a run is told that was given no prompt at all."""

RESUME_REMINDER = (
    "This conversation was interrupted and has just been resumed. Results of tools further up "
    "may be out of date: check again whatever you rely on before you change anything."
)


def system_blocks(operator_prompt: str, *, resumed: bool) -> tuple[str, ...]:
    """Return the system blocks of every call of a run, in order."""
    return (operator_prompt, RESUME_REMINDER) if resumed else (operator_prompt,)


def first_prompt(prompt: str) -> str:
    """Return the text that opens a session; an empty prompt gets the fixed default."""
    return clean_surrogates(prompt) or DEFAULT_PROMPT


def context_blocks(context: str) -> tuple[TextBlock, ...]:
    """Return the second part of a user message; nothing for a run without context."""
    return (TextBlock(clean_surrogates(context)),) if context else ()


def follow_up_blocks(prompt: str, context: str) -> tuple[TextBlock, ...]:
    """Return the user message of a further turn."""
    return (TextBlock(clean_surrogates(prompt)), *context_blocks(context))
