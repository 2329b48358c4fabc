"""``telemetry``: what a process reports about itself; off until the file says otherwise."""

from __future__ import annotations

from fisk_ai.config.block import Block, Text, Whole


class Capture(Block):
    """Whether exported spans hold what was said."""

    enabled: bool = False
    messages: Text = "delta"
    max_bytes: Whole = 8192


class Telemetry(Block):
    """Traces and metrics of a process; ``sample_ratio`` tells absent from zero."""

    enabled: bool = False
    endpoint: Text = ""
    service_name: Text = ""
    sample_ratio: float | None = None
    no_metrics: bool = False
    capture: Capture = Capture.unwritten()
