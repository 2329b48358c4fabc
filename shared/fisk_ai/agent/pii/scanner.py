"""What is kept from the model: every detector over one text, and what is put in its place.

A hit is replaced by its type, never by a mask: a model reads that something is absent and has no
value it might use. A number of a JSON document becomes a string there. Logins in addresses go
first, since they look like mail, then personal data, then credentials. Rules:
``docs/reference/pii.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fisk_ai.agent.pii.addresses import ADDRESSES
from fisk_ai.agent.pii.credentials import CREDENTIALS
from fisk_ai.agent.pii.labelled import LABELLED
from fisk_ai.agent.pii.logins import LOGINS
from fisk_ai.agent.pii.numbers import NUMBERS
from fisk_ai.agent.pii.rules import Detector, compiled, one_of
from fisk_ai.agent.pii.secrets import SECRETS
from fisk_ai.agent.pii.view import View
from fisk_ai.errors import FiskError, SetupError

TEXT_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one text: a larger one is refused, since half a scan would pass for a whole one.

Twice what a tool's result may have, so that every result within its bound is scanned."""

RULES: Final = (*LOGINS, *ADDRESSES, *NUMBERS, *LABELLED, *SECRETS, *CREDENTIALS)
"""Every rule, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found: ``types`` sorted, ``text`` with every value replaced; never a value."""

    found: bool
    count: int
    text: str
    types: tuple[str, ...]


class Scanner:
    """Finds personal data and credentials; may be used from any thread."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Run ``detectors`` in their order."""
        self._detectors = detectors
        self._suspect = one_of(detector.rule for detector in detectors)
        self._is_open = True

    def scan(self, text: str) -> Scan:
        """Return what ``text`` holds and the text without it; pure, and linear in its length.

        Raises:
            FiskError: the scanner is closed, or the text is over :data:`TEXT_LIMIT_BYTES`.
        """
        if not self._is_open:
            raise FiskError("the scanner is closed; build another")
        data = text.encode(errors="surrogatepass")
        if len(data) > TEXT_LIMIT_BYTES:
            raise FiskError(
                f"the text has {len(data)} bytes, the limit of a scan is {TEXT_LIMIT_BYTES}"
            )
        return self._scan(text, data)

    def close(self) -> None:
        """Refuse further scans; closing twice is harmless."""
        self._is_open = False

    def _scan(self, text: str, data: bytes) -> Scan:
        """Run each detector over what those before it left."""
        view = View(data)
        if self._suspect.search(view.seen) is None:  # so it is with nearly every text
            return Scan(found=False, count=0, text=text, types=())
        counts = Counter[str]()
        for detector in self._detectors:
            spans = detector.spans(view.seen)
            if spans:
                counts[detector.rule.type] += view.replace(spans, detector.rule.placeholder)
        counts += Counter()  # drops what none was replaced of
        if not counts:
            return Scan(found=False, count=0, text=text, types=())
        return Scan(
            found=True,
            count=counts.total(),
            text=view.written().decode(errors="surrogatepass"),
            types=tuple(sorted(counts)),
        )


def build() -> Scanner:
    """Return a scanner with every detector; which of them run is not configurable.

    Raises:
        SetupError: the library that runs the patterns cannot be loaded.
    """
    try:
        return Scanner(tuple(map(compiled, RULES)))
    except ImportError as exc:
        raise SetupError(
            f"the scanner for personal data cannot be built: {exc}; install fisk-ai again, or set "
            "harness.pii.mode to off",
            key="harness.pii.mode",
        ) from exc
