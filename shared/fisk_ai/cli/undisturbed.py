"""A moment that no interrupt cuts in two: whoever ends what it begins has to know of it."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def undisturbed() -> Generator[None]:
    """Let interrupts take their effect behind this block, which has to be short."""
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    effects = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, effect in effects.items():
        if effect is not signal.SIG_IGN:  # as nohup asks
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, effect in effects.items():
            signal.signal(number, effect)
        for number in came:
            signal.raise_signal(number)
