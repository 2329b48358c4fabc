"""The one place that imports nats-py, and how: without the WebSocket transport.

nats-py imports aiohttp when it is installed, which more than doubles its own import time, for a
transport that this project refuses (:mod:`fisk_ai.bus.options`). The name is hidden while nats-py
is imported and aiohttp stays importable afterwards.
"""

from __future__ import annotations

import sys

_HIDDEN = "aiohttp"

_hide = _HIDDEN not in sys.modules
if _hide:
    sys.modules[_HIDDEN] = None  # pyright: ignore[reportArgumentType] - None blocks an import
try:
    from nats import errors
    from nats.aio.client import Client as NatsClient
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from nats.protocol.parser import Parser as NatsParser
finally:
    if _hide:
        del sys.modules[_HIDDEN]

LOST = (errors.Error, OSError, RuntimeError)
"""What a call on a connection fails with; uvloop reports a socket closed meanwhile as the last."""

__all__ = ["LOST", "Msg", "NatsClient", "NatsParser", "Subscription", "errors"]
