"""What a run says about export variables that are set in vain.

Whoever exports them expects traces; a run that stays silent would leave them looking for the fault
elsewhere. Rules: ``docs/reference/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fisk_ai.config import telemetry_export

if TYPE_CHECKING:
    from fisk_ai.config import Config

_IN_THE_FILE = "telemetry.enabled"


def telemetry_note(config: Config, environ: Mapping[str, str], *, flag: bool) -> str:
    """Return the sentence, empty where nothing is set; ``flag``: ``--no-telemetry`` was typed."""
    found = telemetry_export.resolve(config, environ, flag=flag)
    names = telemetry_export.unused(found, environ)
    if not names:
        return ""
    given = f"note: {', '.join(names)} {'is' if len(names) == 1 else 'are'} set but"
    if found.off_by == _IN_THE_FILE:
        return f'{given} telemetry.enabled is false in "{config.source}"; nothing is exported'
    return f"{given} telemetry is disabled by {found.off_by}; nothing is exported"
