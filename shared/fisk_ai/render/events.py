"""Which line an event of a reply set becomes; what this release does not know shows nothing."""

from __future__ import annotations

from msgspec import UNSET

from fisk_ai.a2a import events
from fisk_ai.render.line import LineView
from fisk_ai.toolkit.contract import Advisory


def show(view: LineView, block: events.EventBlock) -> None:
    """Show one block. Fragments are skipped: the whole block follows them."""
    match block:
        case events.TextBlockEvent():
            view.text(block.text, final=block.final)
        case events.ThinkingBlockEvent():
            view.thinking(block.text)
        case events.PromptBlockEvent():
            view.prompt(block.text)
        case events.ToolCallBlockEvent():
            view.tool_call(block.name, b"" if block.input is UNSET else bytes(block.input))
        case events.ToolResultBlockEvent():
            view.tool_result(block.output, is_error=block.is_error)
        case events.AgentCallBlockEvent():
            view.agent_call(block.name, block.task)
        case events.WarningBlockEvent():
            view.warning(_advisory(block))
        case events.StatusBlockEvent():
            _status(view, block)
        case _:
            return


def _status(view: LineView, block: events.StatusBlockEvent) -> None:
    if block.phase == "replay_start":
        view.replay_start()
    elif block.phase == "replay_end":
        view.replay_end(block.count, truncated=block.truncated)


def _advisory(block: events.WarningBlockEvent) -> Advisory:
    return Advisory(
        kind=block.kind,
        name=block.name,
        count=block.count,
        params=block.params,
        error=block.error,
    )
