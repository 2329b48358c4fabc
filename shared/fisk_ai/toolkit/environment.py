"""What a child process inherits: everything but credentials, plus three words about the caller.

The removal goes by name alone. A secret exported under a name that is not listed here reaches the
program, and a program may read any file its user may read. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

# Registers the providers of this project: the key of one nobody registered would be passed on.
import fisk_ai.llm.builtin  # noqa: F401 # pyright: ignore[reportUnusedImport] - as said above
from fisk_ai import faults
from fisk_ai.llm import provider

if TYPE_CHECKING:
    from fisk_ai.config import Config  # loads pydantic, which running commands does not need

OTLP_CREDENTIALS = frozenset(
    f"OTEL_EXPORTER_OTLP{signal}_{kind}"
    for signal in ("", "_TRACES", "_METRICS", "_LOGS")
    for kind in ("HEADERS", "CLIENT_KEY", "CLIENT_CERTIFICATE", "CERTIFICATE")
)
"""Exporter headers carry tokens and the rest names keys; removed with telemetry on or off."""

OUR_CREDENTIALS = frozenset({"SLACK_APP_TOKEN", "SLACK_BOT_TOKEN"})
"""What the processes of this project read secrets from."""

SECRET_LENGTH = 8
"""Code points of the shortest secret that is looked for in texts."""

BROKER_PREFIX = "FISK_AI_NATS_"
"""Begins every variable about our way to the broker; even an address may carry a password."""

CALL_VARIABLE = "FISK_AI_CALL"
"""``<session>/<tool_use_id>``: the same value when the same call runs again after a crash."""


def child_environment(
    environ: Mapping[str, str], *, work_dir: Path | None, call_ref: str
) -> dict[str, str]:
    """Return the environment of a child of ours.

    Credentials of every registered provider go, whichever is in use; those only a configuration
    names are taken out by :func:`without_configured`. ``PWD`` follows
    ``work_dir`` when there is one. An inherited ``FISK_AI_CALL`` never survives: without a
    ``call_ref`` it would name a call of somebody else.
    """
    secret = credential_names(environ) | {CALL_VARIABLE, faults.VARIABLE}
    child = {name: value for name, value in environ.items() if name not in secret}
    if work_dir is not None:
        child["PWD"] = str(work_dir)
    child |= {"LLMFORMAT": "1", "FISK_AI": "1"}
    if call_ref:
        child[CALL_VARIABLE] = call_ref
    return child


def without_configured(environ: Mapping[str, str], config: Config) -> dict[str, str]:
    """Return ``environ`` without the variables in which ``config`` says that a secret is."""
    return {n: value for n, value in environ.items() if n not in config.credential_names}


def credential_values(environ: Mapping[str, str], *, named: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the secrets of ``environ``, by the names above and those ``named`` besides.

    Of a broker's address it is the password, and of headers their values; what is under
    :data:`SECRET_LENGTH` is none, or any text would be full of holes.
    """
    names = credential_names(environ).union(named).intersection(environ)
    found = (secret for name in names for secret in _secrets_in(name, environ[name]))
    return tuple({secret for secret in found if len(secret) >= SECRET_LENGTH})


def _secrets_in(name: str, value: str) -> Iterator[str]:
    if name.startswith(BROKER_PREFIX):
        yield from re.findall(r"://[^/]*?([^:/@]+)@", value)
    elif name.endswith("HEADERS"):
        for header in re.findall(r"[:=]([^\n,]*)", value):
            yield header.strip()
            yield from header.split()  # a scheme such as Bearer is seldom said back with it
    else:
        yield value.strip()


def credential_names(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the variables of ``environ`` that hold a secret, or may, by their names."""
    listed = OTLP_CREDENTIALS | OUR_CREDENTIALS | {*provider.credential_env_names()}
    return frozenset(n for n in environ if n in listed or n.startswith(BROKER_PREFIX))
