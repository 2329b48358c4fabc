"""The guard of personal data around a run's hooks.

It is on unless the configuration switches it off, and a guard that cannot be built ends the run: a
filter that fails must never be the same as no filter.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from fisk_ai.agent.pii import guard as pii_guard
from fisk_ai.agent.pii import scanner
from fisk_ai.agent.setup import Setup
from fisk_ai.config.harness import PII_OFF

DEFAULT_MODE = "redact"
"""What holds for a file that says nothing of personal data."""


def guard(setup: Setup, closers: AsyncExitStack) -> Setup:
    """Return the run with its hooks inside the guard; ``closers`` close what that needs.

    Raises:
        SetupError: the scanner could not be built.
    """
    mode = setup.config.harness.pii.mode or DEFAULT_MODE
    if mode == PII_OFF:
        return setup
    built = scanner.build()
    closers.callback(built.close)
    hooks = pii_guard.guarded(setup.hooks, mode, built, setup.options.events.warn)
    return replace(setup, hooks=hooks)
