"""What a session was started with, and what a change of it means for going on.

Another provider can never continue a session. Another model, prompt or thinking mode needs the
operator's word. Another tool set costs the grants, another budget only a warning. Prompts are
kept as hashes alone. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.sessions.records import Fingerprint
from fisk_ai.text.gojson import dumps, sort_deep
from fisk_ai.text.sanitise import QUOTED_LIMIT, for_terminal

_EXACT_BELOW = 2**53
"""Whole numbers beyond it are no exact 64-bit float, which is what the other reader holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The differences between two fingerprints by what they cost, as lines for a person.

    ``hard`` can never be crossed, ``blocking`` only when forced; ``tools`` drops the grants and
    ``budget`` is worth a warning.
    """

    hard: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Every difference but the provider's, in the order people are shown them."""
        return self.blocking + self.tools + self.budget


def system_hash(system_prompt: str, note_ids: Sequence[str]) -> str:
    """Hash the configured prompt and the ids of the notes that apply, such as ``note:hitl:1``.

    Ids instead of texts: a release that rewords a note must not refuse every open session.
    """
    return _sha256([system_prompt, *note_ids])


def tools_hash(defs: Sequence[ToolDef]) -> str:
    """Hash the tools in the order the model sees them; the order of schema keys is no matter."""
    return _sha256([_tool(definition) for definition in defs])


def build(  # noqa: PLR0913 - one value for each thing a session is started with
    *,
    provider: str,
    model: str,
    system_prompt: str,
    note_ids: Sequence[str] = (),
    tools: Sequence[ToolDef] = (),
    thinking_enabled: bool | None = None,
    reasoning_effort: str = "",
    max_tokens: int,
    max_iterations: int,
) -> Fingerprint:
    """Describe a run; ``max_tokens`` is the conversation's budget, not the output cap."""
    return Fingerprint(
        provider=provider,
        model=model,
        system_hash=system_hash(system_prompt, note_ids),
        tools_hash=tools_hash(tools),
        thinking_mode="summarized" if thinking_enabled else "off",
        reasoning_effort=reasoning_effort,
        max_tokens=max_tokens,
        max_iterations=max_iterations,
    )


def compare(stored: Fingerprint, current: Fingerprint) -> Drift:
    """Return what changed since ``stored``."""
    return Drift(
        hard=_changed("provider", stored.provider, current.provider),
        blocking=(
            *_changed("model", stored.model, current.model),
            *_replaced("system prompt", stored.system_hash, current.system_hash),
            *_changed("thinking", stored.thinking_mode, current.thinking_mode),
            *_changed(
                "reasoning_effort",
                stored.reasoning_effort or "none",
                current.reasoning_effort or "none",
            ),
        ),
        tools=_replaced("tool set", stored.tools_hash, current.tools_hash),
        budget=(
            *_changed("max_tokens", stored.max_tokens, current.max_tokens),
            *_changed("max_iterations", stored.max_iterations, current.max_iterations),
        ),
    )


def _changed(name: str, stored: object, current: object) -> tuple[str, ...]:
    if stored == current:
        return ()
    before, now = (for_terminal(str(value), QUOTED_LIMIT) for value in (stored, current))
    return (f"{name}: {before} -> {now}",)


def _replaced(name: str, stored: str, current: str) -> tuple[str, ...]:
    return () if stored == current else (f"{name}: changed",)


def _sha256(value: object) -> str:
    return hashlib.sha256(dumps(value)).hexdigest()


def _tool(definition: ToolDef) -> dict[str, object]:
    schema = _float64(sort_deep(definition.input_schema)) if definition.input_schema else None
    return {
        "Name": definition.name,
        "Description": definition.description,
        "InputSchema": schema,
        "DeferLoading": definition.defer_loading,
    }


def _float64(value: object) -> object:
    if isinstance(value, Mapping):
        members: Mapping[str, object] = value  # pyright: ignore[reportUnknownVariableType] - JSON data
        return {key: _float64(member) for key, member in members.items()}
    if isinstance(value, list):
        items: list[object] = value  # pyright: ignore[reportUnknownVariableType] - JSON data
        return [_float64(item) for item in items]
    if isinstance(value, int) and abs(value) >= _EXACT_BELOW:
        return float(value)
    return value
