"""What ``fisk-ai info`` says of data that leaves an agent: to the model, and to a collector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fisk_ai.config import Config, telemetry_export
from fisk_ai.config.harness import PII_OFF
from fisk_ai.config.references import redact_url
from fisk_ai.config.telemetry_export import Export, Setting
from fisk_ai.config.telemetry_rules import fault
from fisk_ai.render.tables import Document
from fisk_ai.render.width import terminal_width
from fisk_ai.text.sanitise import for_terminal

TEXT_LIMIT = 128
ADDRESS_LIMIT = 400
"""Code points of one text; the configuration or the environment chose it."""

_MODES: Mapping[str, str] = {
    "redact": "redact (a hit is replaced by its type)",
    "reject": "reject (a prompt with a hit is refused, a result with one withheld)",
}
Value = TypeVar("Value")


def pii(config: Config) -> str:
    """Return the section that says what is kept from the model."""
    page = Document("PII scanning", terminal_width())
    mode = config.harness.pii.mode
    if mode == PII_OFF:
        page.item("Mode", PII_OFF)
        page.item("Scanned", "nothing")
        return page.text()
    page.item("Mode", _MODES[mode])
    page.item("Scanned", "prompts and their context, output of tools")
    page.item(
        "Not scanned",
        "system prompt, memory index, the model's own words and calls, supplied answers, history",
    )
    page.item(
        "Checks",
        "email, phone, IBAN, payment card, SSN, labelled birth date, passport and licence",
    )
    page.item("Credentials", "API keys, bearer tokens, private keys, NATS credentials and seeds")
    page.item("Detection", "patterns and check digits; names and streets are not recognised")
    return page.text()


def telemetry(config: Config, environ: Mapping[str, str]) -> str:
    """Return the section of a file or an environment that speaks of telemetry, else nothing."""
    related = any(environ.get(name) for name in telemetry_export.RELATED)
    if not related and not config.telemetry.model_fields_set:
        return ""
    found = telemetry_export.resolve(config, environ)
    page = Document("Telemetry", terminal_width())
    page.item("Enabled", f"no ({found.off_by})" if found.off_by else "yes")
    page.item("Export", "not built yet: nothing is exported")
    page.optional("Set in vain", ", ".join(telemetry_export.unused(found, environ)))
    page.optional("Invalid", for_terminal(fault(config, found, environ), ADDRESS_LIMIT))
    page.item("Endpoint", _with_origin(found.endpoint, redact_url(found.endpoint.value)))
    page.item("Service name", _with_origin(found.service_name, found.service_name.value))
    page.item("Sample ratio", _with_origin(found.sample_ratio, f"{found.sample_ratio.value:g}"))
    page.item("Metrics", _with_origin(found.metrics, "yes" if found.metrics.value else "no"))
    _capture(page, found)
    page.item("Credential scrub", _scrub(config))
    return page.text()


def _capture(page: Document, found: Export) -> None:
    if not found.capture:
        page.item("Content capture", "no")
        return
    page.item("Content capture", f"yes ({for_terminal(found.capture_messages, TEXT_LIMIT)})")
    page.item(
        "Captured at most", _with_origin(found.capture_bytes, f"{found.capture_bytes.value} B")
    )


def _scrub(config: Config) -> str:
    named = ", ".join(for_terminal(name, TEXT_LIMIT) for name in config.credential_names)
    also = f" and {named}" if named else ""
    return f"exporter headers, keys and certificates{also} are kept from tools"


def _with_origin(setting: Setting[Value], shown: str) -> str:
    return f"{for_terminal(shown, ADDRESS_LIMIT)} ({setting.origin})"
