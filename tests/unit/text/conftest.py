"""Settings of the property tests: machines that are shared are slow at times."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
