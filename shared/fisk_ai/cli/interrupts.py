"""What an interrupt means at each moment of a run: first ask, then leave, then force.

While a question is open, Ctrl-C ends the question. While a turn runs, the first signal asks it to
stop at its next boundary and the second leaves. At any other moment the first signal leaves. A
terminal that hangs up leaves at once, and answers no question by that. A shell and the kernel each
tell of it, and what opened the terminal may end it besides: none of that hurries a stop.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Routes SIGINT, SIGTERM and SIGHUP for one run; ``leave`` cancels the task that made it."""

    def __init__(self, *, abort_question: Callable[[], bool]) -> None:
        """``abort_question`` ends the open question and says whether there was one."""
        self._abort_question = abort_question
        self._task = asyncio.current_task()
        self._ask: Callable[[signal.Signals], None] | None = None
        self._force: Callable[[], None] | None = None
        self._hung_up = False
        self.left = False

    @contextmanager
    def installed(self) -> Generator[None]:
        """Receive the signals in this block; they have the effect they had before after it.

        After the terminal hung up they have none any more. No signal but SIGINT is the loop's own
        to handle: it lets go of one by making it deadly for a moment.
        """
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        if before[signal.SIGHUP] is signal.SIG_IGN:
            del before[signal.SIGHUP]  # as nohup asks

        def receive(number: int, _: FrameType | None) -> None:
            if number == signal.SIGHUP:
                signal.signal(number, signal.SIG_IGN)
            loop.call_soon_threadsafe(self.press, signal.Signals(number))

        loop.add_signal_handler(signal.SIGINT, self.press, signal.SIGINT)
        for number in before:
            if number != signal.SIGINT:
                signal.signal(number, receive)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            for number, effect in before.items():
                signal.signal(number, signal.SIG_IGN if self._hung_up else effect)

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
        """Take one signal; none counts any more when the terminal hung up."""
        if self._hung_up:
            return
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
        """Leave because the terminal is gone: an open question stays open, to be answered later.

        Who leaves already is not cancelled again: that would cut the agent's stop short.
        """
        self._hung_up = True
        if self.left:
            return
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
