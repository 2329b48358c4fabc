"""Which combinations of checkpoint settings can be meant; checked before anything happens."""

from __future__ import annotations

from fisk_ai.agent.options import Checkpoint, RunOptions, SuppliedAnswer
from fisk_ai.errors import UsageError


def journals(checkpoint: Checkpoint | None) -> bool:
    """Say whether a run with this checkpoint writes a session."""
    return checkpoint is not None and (checkpoint.enabled or bool(checkpoint.resume_id))


def validate(options: RunOptions) -> None:
    """Refuse settings that contradict one another.

    Raises:
        UsageError: the first broken rule; ``key`` names the option.
    """
    checkpoint = options.checkpoint
    if checkpoint is None:
        return
    if checkpoint.follow_up:
        _follow_up(checkpoint, options.prompt)
    if checkpoint.answer is not None:
        _answer(checkpoint, checkpoint.answer)
    if checkpoint.approval is not None:
        _approval(checkpoint)
    if checkpoint.conversation_token:
        _conversation_token(checkpoint)


def _follow_up(checkpoint: Checkpoint, prompt: str) -> None:
    if not checkpoint.resume_id:
        raise UsageError("follow_up needs resume_id: it adds to a session", key="follow_up")
    if checkpoint.create_if_missing:
        raise UsageError(
            "follow_up cannot stand beside create_if_missing: a session that is not there has "
            "no turn to follow",
            key="follow_up",
        )
    if not prompt.strip():
        raise UsageError("follow_up needs a prompt that is not blank", key="follow_up")


def _answer(checkpoint: Checkpoint, answer: SuppliedAnswer) -> None:
    if not checkpoint.resume_id:
        raise UsageError("answer needs resume_id: it answers a session", key="answer")
    if checkpoint.create_if_missing:
        raise UsageError(
            "answer cannot stand beside create_if_missing: a session that is not there waits for "
            "no answer",
            key="answer",
        )
    if not answer.tool_use_id:
        raise UsageError("answer needs the tool_use_id of its call", key="answer")


def _approval(checkpoint: Checkpoint) -> None:
    if not checkpoint.resume_id:
        raise UsageError("approval needs resume_id: it answers a session", key="approval")
    if checkpoint.approval is not None and not checkpoint.approval.tool_use_id:
        raise UsageError("approval needs the tool_use_id of its call", key="approval")


def _conversation_token(checkpoint: Checkpoint) -> None:
    if checkpoint.follow_up or checkpoint.answer is not None:
        other = "follow_up" if checkpoint.follow_up else "answer"
        raise UsageError(
            f"conversation_token cannot stand beside {other}: only a session that is created "
            "records one",
            key="conversation_token",
        )
    if not (checkpoint.enabled or checkpoint.create_if_missing):
        raise UsageError(
            "conversation_token needs a checkpoint that creates a session: set enabled or "
            "create_if_missing",
            key="conversation_token",
        )
