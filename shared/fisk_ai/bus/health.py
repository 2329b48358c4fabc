"""What ends a process and what does not: faults, load and passing trouble of one connection.

A connection closed for good and a permission error on something we serve or publish are faults:
the process drains and exits, so that a supervisor starts it afresh. A slow consumer is load: it is
shed, counted and logged at most once a second. A lost and regained broker is a state.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl

from fisk_ai.bus.library import errors
from fisk_ai.bus.options import BUILT_IN_PREFIXES
from fisk_ai.bus.pace import Pace
from fisk_ai.errors import BusError

_log = logging.getLogger("fisk_ai.bus")

_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"')
MIN_PAYLOAD_BYTES = 1024 * 1024
"""What a broker takes by default: the largest message of the protocol, with room for headers."""

_DISTRUST = (ssl.SSLCertVerificationError, errors.SecureConnWantedError)
"""No later attempt makes a server trustworthy, so that the first connection ends here."""

_BUILT_IN = tuple(f"{prefix.lower()}." for prefix in BUILT_IN_PREFIXES)
"""In lower case, because nats-py lowers the server's error texts."""


class Health:
    """Hears everything nats-py reports about one connection and decides what it means."""

    def __init__(self, *, own_prefixes: bool) -> None:
        """``own_prefixes``: the operator listed reply prefixes, so the default one is foreign."""
        self._own_prefixes = own_prefixes
        self._fault: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pace = Pace()
        self.shed = 0
        self.returns = 0
        self.last_error = ""
        self.closing = False

    async def fault(self) -> Exception:
        """Wait for the fault of this connection; there is at most one."""
        return await asyncio.shield(self._fault)

    async def refused(self) -> str:
        """Wait for the broker to say that it will not have this client."""
        return await asyncio.shield(self._refusal)

    async def on_error(self, error: Exception) -> None:
        """Judge an error that belongs to no call of ours."""
        if isinstance(error, errors.SlowConsumerError):
            self.count_shed(error.subject)
            return
        self.last_error = str(error) or type(error).__name__
        if "permissions violation" in self.last_error:
            self._on_violation(self.last_error)
        elif "authorization violation" in self.last_error.lower() or isinstance(error, _DISTRUST):
            self._refuse(self.last_error)
        elif lines := self._pace.permits(self.last_error):
            _log.debug("broker connection: %s (%d times)", self.last_error, lines)

    async def on_disconnected(self) -> None:
        """Note that the broker is away for now."""
        if not self.closing:
            _log.warning("the connection to the broker was lost; reconnecting")

    async def on_reconnected(self) -> None:
        """Note that the broker is back."""
        self.returns += 1
        _log.warning("the connection to the broker is back")

    def on_limit(self, max_payload: int, place: str) -> None:
        """Judge the most bytes that the broker at ``place`` takes in one message."""
        if max_payload < MIN_PAYLOAD_BYTES:
            _log.warning(
                "%s takes messages of at most %d bytes (max_payload), less than the %d agents count"
                " on: long answers are cut short, and what else does not fit is not sent; raise it",
                place,
                max_payload,
                MIN_PAYLOAD_BYTES,
            )

    async def on_closed(self) -> None:
        """Judge the end of the connection: a fault unless we asked for it."""
        if not self.closing:
            detail = f": {self.last_error}" if self.last_error else ""
            self._fail(BusError(f"the connection to the broker was closed{detail}"))

    def count_shed(self, subject: str) -> None:
        """Count one message that did not fit."""
        self.shed += 1
        if lines := self._pace.permits(f"shed {subject}"):
            _log.warning("shed %d messages on %s: they arrive faster than we serve", lines, subject)

    def _on_violation(self, text: str) -> None:
        match = _VIOLATION.search(text)
        kind, subject = (match[1], match[2]) if match else ("subscription", "")
        if kind == "publish" and self._own_prefixes and subject.startswith(_BUILT_IN):
            # Any caller may name an inbox under the default prefix; where roles have prefixes of
            # their own it is the caller's mistake, and no caller may end this process.
            if self._pace.permits("foreign inbox"):
                _log.warning("a caller's inbox %s may not be published to", subject)
            return
        self._fail(BusError(f'the broker does not allow the {kind} to "{subject}"'))

    def _refuse(self, text: str) -> None:
        if not self._refusal.done():
            self._refusal.set_result(text)

    def _fail(self, error: Exception) -> None:
        if not self._fault.done():
            self._fault.set_result(error)
