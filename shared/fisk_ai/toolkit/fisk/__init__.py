"""A fisk application as a set of tools: it describes itself, and its commands are run."""

from __future__ import annotations

from fisk_ai.toolkit.fisk.application import LoadedApplication, load, resolve_application
from fisk_ai.toolkit.fisk.globals import GlobalFlag

__all__ = ["GlobalFlag", "LoadedApplication", "load", "resolve_application"]
