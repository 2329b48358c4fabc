"""``fisk-ai provision --permissions``: the configuration of a broker with a user for each role.

It is printed and never applied. Rules: ``docs/how-to/nats-permissions.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fisk_ai.bus import server_config
from fisk_ai.bus.options import INBOX_VARIABLE, PREFIXES_VARIABLE
from fisk_ai.bus.server_config import User
from fisk_ai.cli.provision_roles import Agent, Role, roles
from fisk_ai.errors import UsageError

STORE_DIRECTORY: Final = "/var/lib/nats"

_HEAD: Final = """\
# A nats-server with one user for each role. Where it listens beyond this machine, give it a
# certificate. Each password is a variable of the server's environment: letters and digits, a
# letter first.
listen: "127.0.0.1:4222"
"""

_TAIL: Final = """\
# What the process of each role is told, beside its user and password: variables, or in its NATS
# context "inbox_prefix" in place of the first.
"""


def printed(agents: Sequence[Agent]) -> str:
    """Return a complete configuration for the roles that these agents have.

    Raises:
        UsageError: there is no role, or two would share a password.
        ConfigError: an option of what is kept at a broker that cannot be used.
    """
    found = roles(agents)
    if not found:
        raise UsageError(
            "--permissions: nobody needs a user, for no configuration exposes anything or keeps"
            " anything at a broker; set expose.agent",
            key="--permissions",
        )
    _require_apart(found)
    return (
        _HEAD
        + server_config.SETTINGS
        + server_config.jetstream(STORE_DIRECTORY)
        + server_config.users([_user(role) for role in found])
        + _TAIL
        + "".join(map(_settings, found))
    )


def password_variable(role: str) -> str:
    """Return the variable of the server's environment that holds a role's password."""
    return f"{role.replace('-', '_').upper()}_PASSWORD"


def _user(role: Role) -> User:
    return User(
        name=role.name,
        what=role.what,
        password_variable=password_variable(role.name),
        publish=role.publish,
        subscribe=role.subscribe,
    )


def _settings(role: Role) -> str:
    if role.is_second_connection:
        return f'# {role.name}: "inbox_prefix": "{role.inbox}" in its NATS context\n'
    lines = [f"{INBOX_VARIABLE}={role.inbox}"]
    lines += [f"{PREFIXES_VARIABLE}={','.join(role.accepts)}"] if role.accepts else []
    return "".join(f"# {role.name}: {line}\n" for line in lines)


def _require_apart(found: Sequence[Role]) -> None:
    named: dict[str, str] = {}
    for role in found:
        other = named.setdefault(password_variable(role.name), role.name)
        if other != role.name:
            raise UsageError(
                f"--permissions: {other} and {role.name} would have one password; print them apart",
                key="--permissions",
            )
