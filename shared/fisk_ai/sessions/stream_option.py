"""Which stream sessions are kept in, as a configuration says it; needs no broker.

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from fisk_ai import options
from fisk_ai.errors import ConfigError
from fisk_ai.sessions.file_directory import OPTIONS_KEY
from fisk_ai.sessions.places import StoreConfig

OPTION_KEY: Final = f"{OPTIONS_KEY}.stream"
"""What to change when the stream is wrong."""

_NAME: Final = re.compile(r"[^\s.*>/\\]{1,255}")


class _Options(msgspec.Struct, frozen=True):
    """``nats_context`` is read by whoever opens the connection."""

    stream: str = ""
    nats_context: str = ""


def stream_of(config: StoreConfig) -> str:
    """Return the name of the stream.

    Raises:
        ConfigError: an option that this backend does not take, or no name.
    """
    name = options.decode("jetstream session", config.options, _Options, key=OPTIONS_KEY).stream
    if not name:
        raise ConfigError(
            f"{OPTION_KEY} is required for the jetstream session backend: name a stream that exists"
            f" already; make one with: {creation('FISK_SESSIONS')}",
            key=OPTION_KEY,
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{OPTION_KEY}: {name[:80]!r} can be no stream's name", key=OPTION_KEY)
    return name


def creation(stream: str) -> str:
    """Return the command that makes a stream as sessions need it."""
    return (
        f"nats stream add {stream} --subjects '{subjects_of(stream)}' --max-msgs-per-subject=1"
        " --discard=new --discard-per-subject"
    )


def subjects_of(stream: str) -> str:
    """Return the subjects of a new stream; no two streams of a broker may share any."""
    return f"fisk.sessions.{stream}.>"
