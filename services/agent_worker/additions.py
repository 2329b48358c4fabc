"""What an embedder's own worker brings beside its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fisk_ai.agent.hooks import Hooks
    from fisk_ai.toolkit.contract import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Tools and hooks that code adds to the agent."""

    tools: tuple[Tool, ...] = ()
    hooks: Hooks | None = None
