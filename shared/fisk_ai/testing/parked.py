"""Sessions that wait for a person, for tests of what is said and decided about them.

A hostile text stands where a model or a peer has the word.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

from fisk_ai.cli.main import main
from fisk_ai.llm.model import Message, ToolUseBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Assistant, Deferred, Payload, Record, Terminal
from fisk_ai.testing.session_records import terminal
from fisk_ai.toolkit.builtin import hitl

HOSTILE: Final = "\x1b[31mred\u202e"
REMOVE: Final = b'{ "path":"/x", "n":1.0 }'


def ask(call: str, tool: str, **arguments: object) -> ToolUseBlock:
    """Return a call with these arguments."""
    return ToolUseBlock(call, tool, json.dumps(arguments).encode())


def batch(*uses: ToolUseBlock) -> Assistant:
    """Return a reply that makes these calls."""
    return Assistant(
        iteration=0,
        message=Message("assistant", uses),
        stop_reason="tool_use",
        in_tokens=1,
        out_tokens=1,
    )


def deferred(call: str, tool: str, note: str = "") -> Deferred:
    """Return the record of a call that is answered later."""
    return Deferred(tool_use_id=call, tool_name=tool, note=note)


CONFIRM = ask("q1", hitl.CONFIRM, question=f"Really {HOSTILE}?")
SELECT = ask("q2", hitl.SELECT, question="Which?", options=["red", f"blue {HOSTILE}"])
INPUT = ask("q3", hitl.INPUT, question="What?")
LATER = ask("q4", "deploy")
QUESTIONS: tuple[Payload, ...] = (
    batch(CONFIRM, SELECT, INPUT, LATER),
    deferred("q1", hitl.CONFIRM),
    deferred("q2", hitl.SELECT),
    deferred("q3", hitl.INPUT),
    deferred("q4", "deploy", f"job {HOSTILE} 7"),
    terminal("suspended"),
)
"""Every kind of question, each put off."""

NOT_A_PERSONS: Final = (
    "not a person's to answer: the program behind its tool deploy does, with "
    "fisk_ai.sessions.supply.supply"
)
"""What is said of the last of them."""

GATED: tuple[Payload, ...] = (
    batch(ToolUseBlock("g1", "rm", REMOVE), ask("g2", "say", message=HOSTILE)),
    Terminal(reason="suspended", message="nobody answered"),
)
"""A run that stopped before two calls."""

BATCH: tuple[Payload, ...] = (
    batch(CONFIRM, ask("q2", hitl.CONFIRM, question="Sure?"), ToolUseBlock("g1", "rm", REMOVE)),
    deferred("q1", hitl.CONFIRM),
    terminal("suspended"),
)
"""A run whose terminal went away at its first question of two; a gated call stands behind."""

KILLED: tuple[Payload, ...] = (batch(ToolUseBlock("g1", "rm", REMOVE), ask("g2", "say")),)
"""A run that was killed in the first of two calls."""


def session(store: Path, *words: str) -> int:
    """Run a verb of ``fisk-ai session`` over the directory ``store``."""
    return main(["session", words[0], "--state-dir", str(store), *words[1:]])


def records(store: Path, name: str = "one") -> list[Record]:
    """Return what a session holds."""
    return asyncio.run(FileStore(store).records(name))


def last(store: Path) -> Payload | None:
    """Return what was written last."""
    return records(store)[-1].payload
