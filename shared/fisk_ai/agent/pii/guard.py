"""The guard over a run: which texts are scanned on their way to the model, and what a hit does.

It wraps the caller's hooks: they see the text as it came, and what they leave of it is scanned.
A scan that fails counts as a hit. Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from fisk_ai.agent.hooks import (
    Hooks,
    PostToolUse,
    PromptVerdict,
    Replacement,
    UserPrompt,
)
from fisk_ai.agent.pii.scanner import Scan
from fisk_ai.errors import FiskError
from fisk_ai.toolkit.contract import Advisory

INLINE_LIMIT: Final = 16_384
"""Characters scanned on the event loop: about a millisecond, less than a thread's round trip."""

OFF: Final = "off"
REJECT: Final = "reject"

THE_PROMPT: Final = "the prompt"
"""What an advisory calls a person's words."""

UNSCANNED_PROMPT: Final = (
    "the prompt could not be scanned for personal data, so it was not sent to the model"
)
UNSCANNED_RESULT: Final = (
    "[the output of this tool was withheld: it could not be scanned for personal data]"
)

_log = logging.getLogger("fisk_ai.agent.pii")

AdvisoryKind = Literal["pii_redacted", "pii_withheld"]
Warn = Callable[[Advisory], Awaitable[None]]


class TextScanner(Protocol):
    """What the guard needs of a scanner."""

    def scan(self, text: str) -> Scan:
        """Return what ``text`` holds; raises :class:`FiskError` when it cannot say."""
        ...


def guarded(hooks: Hooks, mode: str, scanner: TextScanner, warn: Warn) -> Hooks:
    """Return ``hooks`` with prompts and tool output scanned behind them; unchanged when off.

    ``mode`` is ``redact``, ``reject`` or ``off``. ``warn`` is told the first redaction and the
    first withholding; every hit is logged.
    """
    if mode == OFF:
        return hooks
    guard = _Guard(hooks, mode == REJECT, scanner, warn)
    return hooks.scanned_by(guard.prompt, guard.result)


@dataclass(slots=True)
class _Guard:
    hooks: Hooks
    rejects: bool
    scanner: TextScanner
    warn: Warn
    told: set[AdvisoryKind] = field(default_factory=set[AdvisoryKind])

    async def prompt(self, event: UserPrompt) -> PromptVerdict | None:
        """Let the caller judge first; scan what is left of the text."""
        hook = self.hooks.user_prompt_submit
        verdict = await hook(event) if hook is not None else None
        if verdict is not None and verdict.deny:
            return verdict
        text = event.text if verdict is None or verdict.rewrite is None else verdict.rewrite
        scan = await self._scan(text, THE_PROMPT)
        if scan is None:
            return PromptVerdict(deny=True, reason=UNSCANNED_PROMPT)
        if not scan.found:
            return verdict
        if self.rejects:
            return PromptVerdict(deny=True, reason=_rejected(scan))
        return PromptVerdict(rewrite=scan.text)

    async def result(self, event: PostToolUse) -> Replacement | None:
        """Let the caller replace the output first; scan what is left of it."""
        hook = self.hooks.post_tool_use
        replaced = await hook(event) if hook is not None else None
        kept = replaced or Replacement(output=event.output, is_error=event.is_error)
        scan = await self._scan(kept.output, event.tool_name)
        if scan is None:
            return Replacement(output=UNSCANNED_RESULT, is_error=True)
        if not scan.found:
            return replaced
        if self.rejects:
            return Replacement(output=_withheld(scan), is_error=True)
        return Replacement(output=scan.text, is_error=kept.is_error)

    async def _scan(self, text: str, name: str) -> Scan | None:
        """Scan and tell of a hit; ``None`` when the scan failed."""
        if not text:
            return Scan(found=False, count=0, text=text, types=())
        try:
            scan = await self._scanned(text)
        except FiskError as exc:
            _log.warning("personal data: %s could not be scanned: %s", name, exc)
            await self._tell(Advisory(kind="pii_withheld", name=name, error=str(exc)))
            return None
        if scan.found:
            await self._hit(scan, name)
        return scan

    async def _scanned(self, text: str) -> Scan:
        if len(text) <= INLINE_LIMIT:
            return self.scanner.scan(text)
        return await asyncio.to_thread(self.scanner.scan, text)

    async def _hit(self, scan: Scan, name: str) -> None:
        kind: AdvisoryKind = "pii_withheld" if self.rejects else "pii_redacted"
        _log.info("personal data: %s in %s: %d %s", kind, name, scan.count, _names(scan))
        await self._tell(Advisory(kind=kind, name=name, count=scan.count, params=scan.types))

    async def _tell(self, advisory: Advisory) -> None:
        """Warn once of each kind: forty tool calls must not bury the answer."""
        kind: AdvisoryKind = "pii_redacted" if advisory.kind == "pii_redacted" else "pii_withheld"
        if kind not in self.told:
            self.told.add(kind)
            await self.warn(advisory)


def _names(scan: Scan) -> str:
    return ", ".join(scan.types)


def _rejected(scan: Scan) -> str:
    return (
        f"the prompt contains personal data ({_names(scan)}) and harness.pii.mode is reject; "
        "take it out and send the prompt again"
    )


def _withheld(scan: Scan) -> str:
    return (
        f"[the output of this tool was withheld: it contains personal data ({_names(scan)}) "
        "and harness.pii.mode is reject]"
    )
