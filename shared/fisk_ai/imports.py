"""Importing at the start of a process, without the garbage collector, which finds nothing there.

What is imported stays. Yet the collector would walk through all of it several times while it
grows, again at every full collection, which holds up an event loop, and when the process ends.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Collect nothing inside, and never look again at what exists at the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
