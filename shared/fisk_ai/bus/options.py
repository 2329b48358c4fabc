"""How to reach a broker, and which reply subjects its callers may name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from fisk_ai.bus.address import addresses
from fisk_ai.errors import ConfigError, SetupError

CONNECT_TIMEOUT_S = 5.0
"""How long a first connection may take where a person waits for it."""

URL_VARIABLE = "FISK_AI_NATS_URL"
"""The setting that names a broker; named by refusals."""

CREDS_VARIABLE = "FISK_AI_NATS_CREDS"
"""The setting that names a credentials file for :data:`URL_VARIABLE`."""

DEFAULT_INBOX = "_INBOX"
"""Where replies come unless a context or a setting says otherwise."""

INBOX_VARIABLE = "FISK_AI_NATS_INBOX_PREFIX"
"""The setting that says where the replies to this process come; named by refusals."""

PREFIXES_VARIABLE = "FISK_AI_INBOX_PREFIXES"
"""The setting that lists reply prefixes; named by refusals."""

_VARIABLES = {"url": URL_VARIABLE, "creds": CREDS_VARIABLE}
"""The settings that stand for the keys of a context."""

BUILT_IN_PREFIXES = (DEFAULT_INBOX, "_R_")
"""The default inboxes of every client, and the server's own for account imports."""

PREFIX_LIMIT = 128
"""Characters: what lies under a prefix stays far below the longest reply subject that is served."""

_SHOWN_LIMIT = 80
"""Characters that a refusal repeats of a prefix."""

API_PREFIX = "$JS.API"
"""Where a broker takes what concerns streams, unless a context names a domain or an import."""

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
    ``accepted_prefixes`` are the inbox prefixes of callers beside the built-in ones, ``api_prefix``
    is where the API of streams is asked.
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
    inbox_prefix: str = DEFAULT_INBOX
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    accepted_prefixes: tuple[str, ...] = ()
    api_prefix: str = API_PREFIX

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

    def named(self, key: str) -> str:
        """Return what leads to a value, for refusals: they never repeat the value itself."""
        if self.context:
            return f'connecting to NATS context "{self.context}": its {key}'
        return _VARIABLES.get(key, f"the {key} of the connection")

    def _refused(self, place: int) -> SetupError:
        which = f" (address {place} of its list)" if "," in self.url else ""
        instead = "into user and password" if self.context else "into a NATS context"
        return SetupError(
            f"{self.named('url')} is no NATS address{which}: write nats://host:port or"
            f" tls://host:port, and a user or password with / ? # [ ] or a comma in it {instead}",
            key="url",
        )


def check_inbox(prefix: str) -> None:
    """Check the prefix of this client's own inboxes.

    Raises:
        ConfigError: as :func:`prefix_fault` says.
    """
    if fault := prefix_fault(prefix):
        raise ConfigError(
            f"{INBOX_VARIABLE} {_shown(prefix)} {fault}; write it as _INBOX_role",
            key=INBOX_VARIABLE,
        )


def checked_prefixes(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the reply prefixes to accept beside the built-in ones.

    An entry is one or more literal subject tokens and counts as whole tokens.

    Raises:
        ConfigError: as :func:`prefix_fault` says of an entry.
    """
    for entry in entries:
        if fault := prefix_fault(entry):
            raise ConfigError(
                f"the entry {_shown(entry)} of {PREFIXES_VARIABLE} {fault}; write them as"
                " _INBOX_role,_INBOX_other",
                key=PREFIXES_VARIABLE,
            )
    return entries


def prefix_fault(prefix: str) -> str:
    """Return why no inbox may lie under ``prefix``, empty when it may; the value is not in it."""
    tokens = prefix.split(".")
    if not prefix.isprintable() or not all(map(_LITERAL_TOKEN.fullmatch, tokens)):
        return "is no list of literal subject tokens"
    if tokens[0] in _OWN_ROOTS:
        return "names a subject this program listens on"
    if len(prefix) > PREFIX_LIMIT:
        return f"is longer than {PREFIX_LIMIT} characters"
    return ""


def _shown(prefix: str) -> str:
    return json.dumps(prefix[:_SHOWN_LIMIT])
