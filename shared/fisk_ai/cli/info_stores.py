"""What ``fisk-ai info`` says of what an agent keeps: memories and sessions."""

from __future__ import annotations

import os
from pathlib import Path

from fisk_ai.cli.stores import configured_directory
from fisk_ai.config import Config
from fisk_ai.errors import FiskError
from fisk_ai.render.tables import Document
from fisk_ai.render.width import terminal_width
from fisk_ai.text.sanitise import for_terminal

TEXT_LIMIT = 128
PATH_LIMIT = 400
"""Code points of one text; the configuration chose it."""

JETSTREAM = "jetstream"


def memory(config: Config) -> str:
    """Return the section of an agent with memory, empty for one without.

    A place that a run would refuse is told in its line.
    """
    declared = config.harness.memory
    if not declared.enabled:
        return ""
    from fisk_ai.memory.limits import CONTENT_LIMIT_BYTES, ENTRIES_LIMIT  # noqa: PLC0415 - seldom needed

    page = Document("Memory", terminal_width())
    page.item("Backend", _named(declared.backend))
    if declared.backend == JETSTREAM:
        page.item("Bucket", _option(declared.options.get("bucket")) or "(not set)")
        page.item("Context", _context(config, declared.options))
        page.item("Prefix", _prefix(config))
    elif declared.backend == "file":
        page.item("Directory", _memory_directory(config))
    if declared.read_only:
        page.item("Access", "read only (read_only)")
    page.item("Index in prompt", "no (no_index)" if declared.no_index else "yes")
    page.item("Limits", f"{CONTENT_LIMIT_BYTES // 1024} KB per entry, {ENTRIES_LIMIT} entries")
    return page.text()


def sessions(config: Config) -> str:
    """Return the section that says where conversations are journaled."""
    declared = config.harness.sessions
    page = Document("Sessions", terminal_width())
    page.item("Backend", _named(declared.backend))
    if declared.backend == JETSTREAM:
        page.item("Stream", _option(declared.options.get("stream")) or "(not set)")
        page.item("Context", _context(config, declared.options))
        page.item("Prefix", "(derived from the stream at connect time)")
        return page.text()
    page.optional("Directory", _session_directory(config))
    return page.text()


def _session_directory(config: Config) -> str:
    try:
        directory = configured_directory(config, root_dir=None, environ=os.environ)
    except FiskError as exc:
        return f"refused: {for_terminal(str(exc), PATH_LIMIT)}"
    return _placed(directory) if directory is not None else ""


def _memory_directory(config: Config) -> str:
    from fisk_ai.memory.file import directory_of  # noqa: PLC0415 - for agents with memory alone
    from fisk_ai.memory.store import MemoryConfig  # noqa: PLC0415 - likewise

    options = config.harness.memory.options
    given = MemoryConfig(identity=config.identity, options=options, base=config.base)
    try:
        directory = directory_of(given)
    except FiskError as exc:
        return f"refused: {for_terminal(str(exc), PATH_LIMIT)}"
    return _placed(directory)


def _placed(directory: Path) -> str:
    """Return where a directory is, and that it is elsewhere for who is elsewhere."""
    shown = for_terminal(str(directory.absolute()), PATH_LIMIT)
    if directory.is_absolute():
        return shown
    return f"{shown} (relative to the working directory; root_directory or --root-dir fixes it)"


def _prefix(config: Config) -> str:
    """An absent prefix is the identity; an empty one is a choice."""
    written = config.harness.memory.options.get("prefix")
    if written is None:
        return f"{_named(config.identity)} (identity)"
    return _option(written) or "none (keys shared flat by every agent of the bucket)"


def _context(config: Config, options: dict[str, object]) -> str:
    own = _option(options.get("nats_context"))
    return own or _named(config.nats_context) or "(default)"


def _option(value: object) -> str:
    return _named(str(value)) if value else ""


def _named(text: str) -> str:
    return for_terminal(text, TEXT_LIMIT)
