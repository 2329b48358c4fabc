"""What a written configuration means: normalised lists and words, the derived name, defaults.

What is written is checked before it is normalised, so that a message repeats a person's own words.
Each step gives the same result when it is done again. The order of the checks is part of the
contract, since the first failure is the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from fisk_ai.config.duration import parse_duration
from fisk_ai.config.expose import A2A, Expose, Prompts
from fisk_ai.config.harness import DEFAULT_PII_MODE, Harness, Knowledge, Memory, Sessions
from fisk_ai.config.llm import (
    DEFAULT_MAX_ITERATIONS,
    DEFAULT_MAX_TOKENS,
    DEFAULT_PROVIDER,
    Budget,
    Llm,
)
from fisk_ai.config.model import Config
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

DEFAULT_IDENTITY: Final = "fisk-ai"
EFFORT_LIMIT: Final = 32
"""Characters of an effort level; providers' words have at most ten."""

SERVED_TOOLS_LIMIT: Final = 1024
"""Tool calls served at once: each is a child process."""

_PYTHON: Final = ".py"
"""How programs end whose base name could never be an identity."""

_EFFORT: Final = re.compile(r"[a-z_-]*")
_NOT_NEGATIVE: Final = "must not be negative"
_POSITIVE: Final = "must be greater than zero"


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
            "global_flags": _unique(flag.strip().lstrip("-") for flag in config.global_flags),
            "harness": _normalise_harness(config.harness),
            "llm": _normalise_llm(config.llm),
            "expose": _normalise_expose(config.expose),
        }
    )


def _unique(words: Iterable[str]) -> list[str]:
    """Trim, drop the empty, keep the first of each: a stray blank must not ungate a command."""
    return list(dict.fromkeys(filter(None, (word.strip() for word in words))))


def _word(text: str, default: str = "") -> str:
    return text.strip().lower() or default


def _normalise_harness(harness: Harness) -> Harness:
    mode = _word(harness.pii.mode, DEFAULT_PII_MODE)
    tags = _unique(harness.confirm_tags)
    sessions, memory = harness.sessions, harness.memory
    if not sessions.backend:
        sessions = Sessions(options=sessions.options)
    if not memory.backend:
        written = memory.model_dump(exclude={"backend"}, exclude_unset=True)
        memory = Memory.model_validate(written)
    return harness.model_copy(
        update={
            "confirm_tags": tags,
            "pii": harness.pii.model_copy(update={"mode": mode}),
            "sessions": sessions,
            "memory": memory,
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
            "reasoning_effort": _word(llm.reasoning_effort),
            "budget": budget,
        }
    )


def _normalise_expose(expose: Expose) -> Expose:
    a2a = expose.agent.a2a
    if a2a is None or a2a.prompts is None:
        return expose
    prompts = a2a.prompts.model_copy(
        update={
            "workers": max(a2a.prompts.workers, 1),
            "approve": _word(a2a.prompts.approve, "caller"),
            "approvals": _word(a2a.prompts.approvals, "deny"),
        }
    )
    served = a2a.model_copy(update={"prompts": prompts})
    agent = expose.agent.model_copy(update={"a2a": served})
    return expose.model_copy(update={"agent": agent})


def _check_pii(config: Config) -> None:
    mode = config.harness.pii.mode
    if _word(mode) not in ("", "redact", "reject", "off"):
        raise _invalid("harness.pii.mode", mode, "must be redact, reject or off")


def _check_effort(config: Config) -> None:
    key, effort = "llm.reasoning_effort", config.llm.reasoning_effort
    if len(_word(effort)) > EFFORT_LIMIT:
        raise ConfigError(f"invalid {key}: over {EFFORT_LIMIT} characters", key=key)
    if not _EFFORT.fullmatch(_word(effort)):
        raise _invalid(key, effort, "letters, underscores and hyphens only")


def _check_a2a(config: Config) -> None:
    a2a = config.expose.agent.a2a
    if a2a is None:
        return
    _check_served_tools(a2a)
    _check_duration("expose.agent.a2a.request_timeout", a2a.request_timeout)
    if a2a.prompts:
        _check_prompts(a2a.prompts)


def _check_served_tools(a2a: A2A) -> None:
    key = "expose.agent.a2a.max_concurrent_tools"
    _check_not_negative(key, a2a.max_concurrent_tools)
    if a2a.max_concurrent_tools > SERVED_TOOLS_LIMIT:
        reason = f"must not exceed {SERVED_TOOLS_LIMIT}"
        raise ConfigError(f"invalid {key} {a2a.max_concurrent_tools}: {reason}", key=key)
    _check_duration("expose.agent.a2a.tool_timeout", a2a.tool_timeout, zero=True)


def _check_prompts(prompts: Prompts) -> None:
    base = "expose.agent.a2a.prompts"
    if _word(prompts.approve, "caller") not in ("caller", "operator"):
        raise _invalid(f"{base}.approve", prompts.approve, "must be caller or operator")
    if _word(prompts.approvals, "deny") not in ("deny", "park"):
        raise _invalid(f"{base}.approvals", prompts.approvals, "must be deny or park")
    _check_duration(f"{base}.elicit_max", prompts.elicit_max)


def _check_tool_timeout(config: Config) -> None:
    _check_duration("harness.tool_timeout", config.harness.tool_timeout, zero=True)


def _check_budget(config: Config) -> None:
    budget: Budget = config.llm.budget
    for name in ("max_tokens", "max_output_tokens", "max_iterations"):
        _check_not_negative(f"llm.budget.{name}", getattr(budget, name))
    _check_duration("llm.budget.call_timeout", budget.call_timeout)


def _check_knowledge(config: Config) -> None:
    knowledge: Knowledge = config.harness.knowledge
    for index, rule in enumerate(knowledge.citations):
        key = f"harness.knowledge.citations[{index}]"
        if not rule.pattern:
            reason = "pattern is required, an empty pattern matches every document path"
            raise ConfigError(f"invalid {key}: {reason}", key=key)
        if not rule.replace:
            raise ConfigError(f"invalid {key}: replace is required", key=key)
    _check_embeddings(knowledge)


def _check_embeddings(knowledge: Knowledge) -> None:
    embeddings = knowledge.embeddings
    if embeddings is None:
        return
    key = "harness.knowledge.embeddings"
    if embeddings.api_key_env and embeddings.api_key_file:
        raise ConfigError(
            f"{key}.api_key_env and {key}.api_key_file are both set: keep one", key=key
        )
    _check_duration(f"{key}.timeout", embeddings.timeout)


_CHECKS: Final[tuple[Callable[[Config], None], ...]] = (
    _check_pii,
    _check_effort,
    _check_a2a,
    _check_tool_timeout,
    _check_budget,
    _check_knowledge,
)


def _invalid(key: str, value: str, reason: str) -> ConfigError:
    return ConfigError(f"invalid {key} {quote(value)}: {reason}", key=key)


def _check_not_negative(key: str, value: int) -> None:
    if value < 0:
        raise ConfigError(f"invalid {key} {value}: {_NOT_NEGATIVE}", key=key)


def _check_duration(key: str, text: str, *, zero: bool = False) -> None:
    """Refuse what is no duration; zero is for those keys that give it a meaning."""
    if not text:
        return
    try:
        length_s = parse_duration(text)
    except ConfigError as exc:
        raise _invalid(key, text, str(exc)) from exc
    if length_s < 0 or (length_s == 0 and not zero):
        raise _invalid(key, text, _NOT_NEGATIVE if zero else _POSITIVE)
