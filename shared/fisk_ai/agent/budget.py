"""What a conversation may spend: lowered by a caller, checked before work, never after an answer.

The bound is on work, not on money: tokens of a finished answer are spent, and refusing it would
waste them.
"""

from __future__ import annotations

from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.options import Budget, Stats
from fisk_ai.agent.stats import spent
from fisk_ai.config import Config
from fisk_ai.errors import RefusedError


def lower(config: Config, asked: Budget) -> Config:
    """Return ``config`` with its bounds lowered to what a caller asked for, never raised."""
    bounds = config.llm.budget
    changes = {
        "max_tokens": _lower(bounds.max_tokens, asked.max_tokens),
        "max_iterations": _lower(bounds.max_iterations, asked.max_iterations),
    }
    llm = config.llm.model_copy(update={"budget": bounds.model_copy(update=changes)})
    return config.model_copy(update={"llm": llm})


def _lower(configured: int, asked: int) -> int:
    if asked <= 0:
        return configured
    return min(configured, asked) if configured > 0 else asked


def require_left(stats: Stats, cap: int, *, before: int = 0) -> None:
    """End the turn once the conversation has spent its tokens; a ``cap`` of 0 or less is none.

    ``before`` are the tokens that were spent on another conversation.

    Raises:
        TurnOver: with ``budget``; the text names what was spent, the cap and the key to raise.
    """
    used = spent(stats.usage) - before
    if cap <= 0 or used < cap:
        return
    raise TurnOver(
        "budget",
        RefusedError(
            f"the conversation has used {used} tokens of the {cap} that llm.budget.max_tokens "
            "allows, and has to wait until that is raised",
            key="llm.budget.max_tokens",
        ),
    )
