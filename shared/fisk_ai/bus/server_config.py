"""The configuration of a ``nats-server``: what every broker of ours has, and users with rights.

Rules: ``docs/how-to/nats-permissions.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_PAYLOAD_BYTES: Final = 2 * 1024 * 1024
"""Room for the largest message of the protocol, with its headers, twice over."""

SETTINGS: Final = f"""\
ping_interval: "10s"
ping_max: 2
max_payload: {MAX_PAYLOAD_BYTES}
"""
"""With a server's own intervals a frozen worker swallows its share of the work for minutes."""

_USERS: Final = """\
authorization {{
  users: [
{blocks}  ]
}}
"""

_INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class User:
    """A user of a broker: what for, the variable with its password, the subjects it may use."""

    name: str
    what: str
    password_variable: str
    publish: Sequence[str]
    subscribe: Sequence[str]


def jetstream(store: str) -> str:
    """Return the block that has streams kept in the directory ``store``: an ack means stored."""
    return f"jetstream {{ store_dir: {json.dumps(store)}, sync_interval: always }}\n"


def users(listed: Sequence[User]) -> str:
    """Return the block that lets these users in, and nobody else.

    A reply is published under the rights of whoever publishes it: there is no ``allow_responses``,
    whose expiry cuts long reply sets.
    """
    blocks = "".join(_user(user) for user in listed)
    return _USERS.format(blocks=blocks)


def _user(user: User) -> str:
    return (
        f"{_INDENT}# {user.name}: {user.what}\n"
        f"{_INDENT}{{\n"
        f"{_INDENT}  user: {json.dumps(user.name)}, password: ${user.password_variable}\n"
        f"{_INDENT}  permissions: {{\n"
        f"{_allowed('publish', user.publish)}"
        f"{_allowed('subscribe', user.subscribe)}"
        f"{_INDENT}  }}\n"
        f"{_INDENT}}}\n"
    )


def _allowed(verb: str, subjects: Sequence[str]) -> str:
    lines = "".join(f"{_INDENT}      {json.dumps(subject)}\n" for subject in subjects)
    return f"{_INDENT}    {verb}: {{ allow: [\n{lines}{_INDENT}    ] }}\n"
