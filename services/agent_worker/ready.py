"""The one line with which a start ends, on a descriptor its starter is reading."""

from __future__ import annotations

import json
import os
import sys

from fisk_ai.text.sanitise import for_display

ERROR_LIMIT = 4000
"""Code points of a start-up error: a sentence that may list names, never a document."""


class ReadyLine:
    """Says once whether this process serves; whoever started it waits for that."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.is_serving = False

    def serving(self, identity: str) -> None:
        """Say that requests are answered from now on."""
        self.is_serving = True
        self._say({"ready": True, "identity": identity})

    def refused(self, error: str) -> None:
        """Say in one sentence why nothing will be served; on stderr where nobody reads the line."""
        if self._descriptor is None:
            sys.stderr.write(f"agent_worker: error: {for_display(error)[:ERROR_LIMIT]}\n")
            return
        self._say({"ready": False, "error": " ".join(error.split())[:ERROR_LIMIT]})

    def _say(self, fact: dict[str, object]) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as pipe:
                pipe.write(json.dumps(fact).encode() + b"\n")
        except OSError:
            return  # whoever started us is gone; the owner's pipe will say so
