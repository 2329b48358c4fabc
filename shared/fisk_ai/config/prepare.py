"""What a written configuration means: normalised lists and words, the derived name, defaults.

What is written is checked before it is normalised, so that a message repeats a person's own words.
Each step gives the same result when it is done again. The order of the checks is part of the
contract, since the first failure is the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fisk_ai.config.checks import check_duration, check_not_negative, invalid, unique, word
from fisk_ai.config.expose_defaults import normalise_expose
from fisk_ai.config.expose_rules import check_expose
from fisk_ai.config.harness_rules import (
    check_knowledge,
    check_pii,
    check_tool_timeout,
    check_tools,
    normalise_harness,
)
from fisk_ai.config.import_rules import check_timeouts
from fisk_ai.config.llm import (
    DEFAULT_MAX_ITERATIONS,
    DEFAULT_MAX_TOKENS,
    DEFAULT_PROVIDER,
    Budget,
    Llm,
)
from fisk_ai.config.model import Config
from fisk_ai.errors import ConfigError

DEFAULT_IDENTITY: Final = "fisk-ai"
EFFORT_LIMIT: Final = 32
"""Characters of an effort level; providers' words have at most ten."""

_PYTHON: Final = ".py"
"""How programs end whose base name could never be an identity."""

_EFFORT: Final = re.compile(r"[a-z_-]*")


def prepare(config: Config) -> Config:
    """Return the configuration as everything else reads it; safe to repeat.

    Raises:
        ConfigError: a value that can never be meant, whatever the process is for.
    """
    for check in _CHECKS:
        check(config)
    return _normalise(_derive_identity(config))


def _derive_identity(config: Config) -> Config:
    if config.named_identity:
        return config
    base = config.application_path.rstrip("/").rpartition("/")[2]
    return config.derived_as(base.removesuffix(_PYTHON) or DEFAULT_IDENTITY)


def _normalise(config: Config) -> Config:
    return config.model_copy(
        update={
            "global_flags": unique(flag.strip().lstrip("-") for flag in config.global_flags),
            "harness": normalise_harness(config.harness),
            "llm": _normalise_llm(config.llm),
            "expose": normalise_expose(config.expose),
        }
    )


def _normalise_llm(llm: Llm) -> Llm:
    budget = llm.budget.model_copy(
        update={
            "max_tokens": llm.budget.max_tokens or DEFAULT_MAX_TOKENS,
            "max_iterations": llm.budget.max_iterations or DEFAULT_MAX_ITERATIONS,
        }
    )
    return llm.model_copy(
        update={
            "provider": llm.provider or DEFAULT_PROVIDER,
            "reasoning_effort": word(llm.reasoning_effort),
            "budget": budget,
        }
    )


def _check_effort(llm: Llm) -> None:
    key, effort = "llm.reasoning_effort", word(llm.reasoning_effort)
    if len(effort) > EFFORT_LIMIT:
        raise ConfigError(f"invalid {key}: over {EFFORT_LIMIT} characters", key=key)
    if not _EFFORT.fullmatch(effort):
        raise invalid(key, llm.reasoning_effort, "letters, underscores and hyphens only")


def _check_budget(budget: Budget) -> None:
    for name in ("max_tokens", "max_output_tokens", "max_iterations"):
        check_not_negative(f"llm.budget.{name}", getattr(budget, name))
    check_duration("llm.budget.call_timeout", budget.call_timeout)


_CHECKS: Final[tuple[Callable[[Config], None], ...]] = (
    lambda config: check_pii(config.harness),
    lambda config: _check_effort(config.llm),
    check_expose,
    lambda config: check_tool_timeout(config.harness),
    check_timeouts,
    lambda config: _check_budget(config.llm.budget),
    lambda config: check_tools(config.harness),
    lambda config: check_knowledge(config.harness.knowledge),
)
