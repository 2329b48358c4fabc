"""How to reach a broker, and which reply subjects its callers may name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fisk_ai.bus.address import addresses
from fisk_ai.errors import ConfigError, SetupError

CONNECT_TIMEOUT_S = 5.0
"""How long a first connection may take where a person waits for it."""

URL_VARIABLE = "FISK_AI_NATS_URL"
"""The setting that names a broker; named by refusals."""

PREFIXES_VARIABLE = "FISK_AI_INBOX_PREFIXES"
"""The setting that lists reply prefixes; named by refusals."""

BUILT_IN_PREFIXES = ("_INBOX", "_R_")
"""The default inboxes of every client, and the server's own for account imports."""

_OWN_ROOTS = frozenset({"choria", "fisk"})
"""First tokens of the subjects this project listens on; a reply there would be a request."""

_LITERAL_TOKEN = re.compile(r"[^\s.*>$]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How the connection is encrypted; naming any of it means that it must be.

    ``cert`` and ``key`` are this client's own, ``ca`` is whom it believes in place of the system's
    authorities. With ``first`` nothing at all is said before the connection is encrypted.
    """

    cert: str = ""
    key: str = ""
    ca: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """One connection: where to, as whom, and from whom it takes requests.

    ``url`` may be a comma-separated list. ``name`` says what the connection is for; the broker
    lists it as ``fisk-ai <name>``. Of the ways to log in at most one is given: ``user`` and
    ``password``, ``token``, the credentials file ``creds``, the seed file ``nkey``, or ``user_jwt``
    with its ``user_seed``. ``context`` names where all this was read, for messages.
    ``accepted_prefixes`` are the inbox prefixes of callers beside the built-in ones.
    """

    url: str = field(repr=False)
    name: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    creds: str = ""
    nkey: str = ""
    user_jwt: str = field(default="", repr=False)
    user_seed: str = field(default="", repr=False)
    tls: Tls | None = None
    context: str = ""
    inbox_prefix: str = "_INBOX"
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    accepted_prefixes: tuple[str, ...] = ()

    def servers(self) -> list[str]:
        """Return the addresses to try.

        Raises:
            SetupError: an address that is none, or of a transport we do not speak.
        """
        found = addresses(self.url)
        if isinstance(found, int):
            raise self._refused(found)
        if not found:
            raise SetupError(f"no NATS address was given; set {URL_VARIABLE}", key="url")
        return [address.url for address in found]

    def shown(self) -> str:
        """Return the addresses without user, password or token, for people and logs."""
        found = addresses(self.url)
        if isinstance(found, int):
            return "an address that cannot be read"
        return ",".join(address.shown for address in found)

    def place(self) -> str:
        """Return what is connected to, for people: the context if there is one, and addresses."""
        named = f'NATS context "{self.context}"' if self.context else "NATS"
        return f"{named} at {self.shown()}"

    def _refused(self, place: int) -> SetupError:
        which = f"address {place} of " if "," in self.url else ""
        if self.context:
            where = f'connecting to NATS context "{self.context}": {which}its url'
            instead = "into user and password"
        else:
            where, instead = f"{which}{URL_VARIABLE}", "into a NATS context"
        return SetupError(
            f"{where} is no NATS address: write nats://host:port or tls://host:port, and a user or"
            f" password with / ? # [ ] or a comma in it {instead}",
            key="url",
        )


def check_inbox(prefix: str) -> None:
    """Check the prefix of this client's own inboxes.

    Raises:
        ConfigError: it is no list of literal subject tokens.
    """
    if not all(_LITERAL_TOKEN.fullmatch(token) for token in prefix.split(".")):
        raise ConfigError(
            f'inbox prefix "{prefix}" is no list of literal subject tokens; '
            "write FISK_AI_NATS_INBOX_PREFIX as _INBOX_role",
            key="FISK_AI_NATS_INBOX_PREFIX",
        )


def checked_prefixes(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the reply prefixes to accept beside the built-in ones.

    An entry is one or more literal subject tokens and counts as whole tokens.

    Raises:
        ConfigError: an entry that is blank, holds a wildcard or ``$``, or names a subject of ours.
    """
    for entry in entries:
        tokens = entry.split(".")
        if not all(_LITERAL_TOKEN.fullmatch(token) for token in tokens):
            raise ConfigError(
                f'reply prefix "{entry}" is no list of literal subject tokens; '
                f"write {PREFIXES_VARIABLE} as _INBOX_role,_INBOX_other",
                key=PREFIXES_VARIABLE,
            )
        if tokens[0] in _OWN_ROOTS:
            raise ConfigError(
                f'reply prefix "{entry}" names a subject this program listens on; '
                f"remove it from {PREFIXES_VARIABLE}",
                key=PREFIXES_VARIABLE,
            )
    return entries
