"""Where each telemetry setting comes from: the file, the environment, the identity or a default.

The environment never enables export; it only fills in what an enabled block leaves open, and can
switch it off. Variables are read through a mapping that is passed in. Export itself is not part of
this release; commands that describe a file show what would be used.
Rules: ``docs/reference/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from fisk_ai.config.checks import word
from fisk_ai.config.model import Config

Value = TypeVar("Value")

DEFAULT_ENDPOINT: Final = "http://localhost:4318"
DEFAULT_SERVICE: Final = "fisk-ai"

_SIGNALS: Final = ("", "_TRACES", "_METRICS")
PROTOCOLS: Final = tuple(f"OTEL_EXPORTER_OTLP{signal}_PROTOCOL" for signal in _SIGNALS)
HEADERS: Final = tuple(f"OTEL_EXPORTER_OTLP{signal}_HEADERS" for signal in _SIGNALS)
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LENGTH_LIMITS: Final = (
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
)
SERVICE: Final = "OTEL_SERVICE_NAME"
NO_TELEMETRY: Final = "NO_TELEMETRY"
SDK_DISABLED: Final = "OTEL_SDK_DISABLED"

TRANSPORT: Final = (*ENDPOINTS, *PROTOCOLS, *HEADERS)
"""Variables that mean nothing while telemetry is off; whoever set one expected an export."""

RELATED: Final = (*TRANSPORT, SERVICE, NO_TELEMETRY, SDK_DISABLED, *LENGTH_LIMITS)

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


@dataclass(frozen=True, slots=True)
class Setting(Generic[Value]):
    """A value and where it was found: a key, a variable, ``identity`` or ``default``."""

    value: Value
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What an export would use; ``off_by`` names what switches it off, empty while it is on."""

    off_by: str
    endpoint: Setting[str]
    service_name: Setting[str]
    sample_ratio: Setting[float]
    metrics: Setting[bool]
    capture: bool
    capture_messages: str
    capture_bytes: Setting[int]


def resolve(config: Config, environ: Mapping[str, str], *, flag: bool = False) -> Export:
    """Return every setting with its origin; ``flag`` says that ``--no-telemetry`` was typed.

    Nothing is judged here: :func:`fisk_ai.config.telemetry_rules.fault` does that.
    """
    telemetry = config.telemetry
    capture = telemetry.capture
    return Export(
        off_by=_off_by(config, environ, flag=flag),
        endpoint=_first_text(
            ("telemetry.endpoint", telemetry.endpoint),
            *((name, environ.get(name, "")) for name in ENDPOINTS),
            ("default", DEFAULT_ENDPOINT),
        ),
        service_name=_first_text(
            ("telemetry.service_name", telemetry.service_name),
            (SERVICE, environ.get(SERVICE, "")),
            ("identity", config.identity if config.named_identity else ""),
            ("default", DEFAULT_SERVICE),
        ),
        sample_ratio=(
            Setting(1.0, "default")
            if telemetry.sample_ratio is None
            else Setting(telemetry.sample_ratio, "telemetry.sample_ratio")
        ),
        metrics=(
            Setting(value=False, origin="telemetry.no_metrics")
            if telemetry.no_metrics
            else Setting(value=True, origin="default")
        ),
        capture=capture.enabled,
        capture_messages=word(capture.messages, "delta"),
        capture_bytes=_capture_bytes(config, environ),
    )


def unused(export: Export, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the transport variables that are set although nothing is exported."""
    return tuple(name for name in TRANSPORT if environ.get(name)) if export.off_by else ()


def _off_by(config: Config, environ: Mapping[str, str], *, flag: bool) -> str:
    if _no_telemetry(environ.get(NO_TELEMETRY, "")):
        return NO_TELEMETRY
    if flag:
        return "--no-telemetry"
    if environ.get(SDK_DISABLED, "").strip() in _TRUE:
        return SDK_DISABLED
    return "" if config.telemetry.enabled else "telemetry.enabled"


def _no_telemetry(value: str) -> bool:
    """Whoever wrote anything but a plain no meant to switch it off."""
    return bool(value.strip()) and value.strip() not in _FALSE


def _first_text(*candidates: tuple[str, str]) -> Setting[str]:
    origin, value = next((origin, value) for origin, value in candidates if value.strip())
    return Setting(value.strip(), origin)


def _capture_bytes(config: Config, environ: Mapping[str, str]) -> Setting[int]:
    capture = config.telemetry.capture
    written = "max_bytes" in capture.model_fields_set
    setting = Setting(capture.max_bytes, "telemetry.capture.max_bytes" if written else "default")
    for name in LENGTH_LIMITS:
        limit = environ.get(name, "").strip()
        if limit.isascii() and limit.isdigit():
            return Setting(int(limit), name) if int(limit) < setting.value else setting
    return setting
