"""What an interrupt means at each moment of a run: first ask, then leave, then force.

While a question is open, Ctrl-C ends the question. While a turn runs, the first signal asks it to
stop at its next boundary and the second leaves. At any other moment the first signal leaves. A
terminal that hangs up leaves at once, and answers no question by that.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Routes SIGINT and SIGTERM for one run; ``leave`` cancels the task that made it."""

    def __init__(self, *, abort_question: Callable[[], bool]) -> None:
        """``abort_question`` ends the open question and says whether there was one."""
        self._abort_question = abort_question
        self._task = asyncio.current_task()
        self._ask: Callable[[signal.Signals], None] | None = None
        self._force: Callable[[], None] | None = None
        self.left = False

    @contextmanager
    def installed(self) -> Generator[None]:
        """Receive the signals in this block; they have the effect they had before after it."""
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (*_SIGNALS, signal.SIGHUP)}
        if before[signal.SIGHUP] is signal.SIG_IGN:
            del before[signal.SIGHUP]  # as nohup asks
        for number in before:
            loop.add_signal_handler(number, self.press, number)
        try:
            yield
        finally:
            for number, effect in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, effect)

    @contextmanager
    def asking(self, ask: Callable[[signal.Signals], None]) -> Generator[None]:
        """In this block the first signal is given to ``ask`` and does not leave."""
        self._ask = ask
        try:
            yield
        finally:
            self._ask = None

    def forcing(self, force: Callable[[], None]) -> None:
        """From now on a signal after leaving calls ``force``, which must end every wait."""
        self._force = force

    def press(self, number: signal.Signals) -> None:
        """Take one signal."""
        if number == signal.SIGHUP:
            self.hang_up()
            return
        if number == signal.SIGINT and self._abort_question():
            return
        if self._ask is not None:
            ask, self._ask = self._ask, None
            ask(number)
        elif self.left:
            self._force_now()
        else:
            self._leave()

    def hang_up(self) -> None:
        """Leave because the terminal is gone: an open question stays open, to be answered later."""
        self.left = True
        if self._task is not None:
            self._task.cancel()

    def _leave(self) -> None:
        self.left = True
        self._abort_question()
        if self._task is not None:
            self._task.cancel()

    def _force_now(self) -> None:
        if self._force is not None:
            self._force()
