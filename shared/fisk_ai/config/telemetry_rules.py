"""What an enabled telemetry block must not say: above all, where a credential would leak."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from fisk_ai.config.model import Config
from fisk_ai.config.references import refused_url
from fisk_ai.config.scalar import quote
from fisk_ai.config.telemetry_export import HEADERS, PROTOCOLS, Export

GRPC_PORT: Final = 4317
MIN_CAPTURE_BYTES: Final = 256
MAX_CAPTURE_BYTES: Final = 65_536


def fault(config: Config, export: Export, environ: Mapping[str, str]) -> str:
    """Return why an export could not start, empty while nothing is wrong or it is off."""
    if export.off_by:
        return ""
    return (
        _protocol(environ)
        or _ratio(export)
        or _capture(config, export)
        or _endpoint(export, environ)
    )


def _protocol(environ: Mapping[str, str]) -> str:
    for name in PROTOCOLS:
        if environ.get(name, "").strip().lower() == "grpc":
            return f"{name} is grpc: this build speaks OTLP/HTTP; unset it"
    return ""


def _ratio(export: Export) -> str:
    ratio = export.sample_ratio.value
    if 0.0 <= ratio <= 1.0:
        return ""
    return f"invalid telemetry.sample_ratio {ratio:g}: must be from 0 to 1"


def _capture(config: Config, export: Export) -> str:
    if not export.capture:
        return ""
    if export.capture_messages not in ("delta", "full"):
        written = quote(config.telemetry.capture.messages)
        return f"invalid telemetry.capture.messages {written}: must be delta or full"
    size = config.telemetry.capture.max_bytes
    if MIN_CAPTURE_BYTES <= size <= MAX_CAPTURE_BYTES:
        return ""
    return (
        f"invalid telemetry.capture.max_bytes {size}: must be from {MIN_CAPTURE_BYTES} to"
        f" {MAX_CAPTURE_BYTES}"
    )


def _endpoint(export: Export, environ: Mapping[str, str]) -> str:
    text, origin = export.endpoint.value, export.endpoint.origin
    where = f"invalid {origin} {quote(refused_url(text))}"
    parts, port = _split(text)
    if parts is None:
        return f"{where}: it cannot be read as an address"
    if "@" in parts.netloc:
        return f"{where}: it must not hold a user name or password"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"{where}: must be an http:// or https:// address"
    if port == GRPC_PORT:
        return (
            f"{where}: {GRPC_PORT} is the OTLP/gRPC port and this build speaks OTLP/HTTP: use 4318"
        )
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        return _in_clear(where, export, environ)
    return ""


def _in_clear(where: str, export: Export, environ: Mapping[str, str]) -> str:
    headers = next((name for name in HEADERS if environ.get(name)), "")
    sent = headers or ("telemetry.capture" if export.capture else "")
    if not sent:
        return ""
    return f"{where}: what {sent} holds would leave this host unencrypted; use https"


def _split(text: str) -> tuple[SplitResult | None, int | None]:
    try:
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError:
        return None, None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
