"""``fisk-ai info``: what a configuration gives a model, without asking one.

The wrapped application is introspected; nothing else is contacted. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from fisk_ai import imports, secrecy
from fisk_ai.cli.arguments import DEFAULT_CONFIG, CommandParser
from fisk_ai.cli.undisturbed import undisturbed
from fisk_ai.config import Mode, load
from fisk_ai.sessions.places import root_directory
from fisk_ai.toolkit.fisk import introspection


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai info`` with its arguments and return the exit code."""
    parser = CommandParser("fisk-ai info", "Show what a configuration gives a model.")
    parser.value("--config", "FILE", f"the agent's configuration (default {DEFAULT_CONFIG})")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    parser.switch("--no-color", "print raw text (NO_COLOR)")
    arguments = parser.parse_args(argv)
    config = load(Path(arguments.config or DEFAULT_CONFIG), Mode.LENIENT)
    secrecy.shield()
    with config.placing():
        base = root_directory(arguments.root_dir, config.root_directory)
        if base is not None:
            config = config.model_copy(update={"root_directory": str(base)})
        with ExitStack() as begun:
            with undisturbed(), imports.uncollected():
                asked = begun.enter_context(introspection.begun(config, environ=os.environ))
                from fisk_ai.cli import info_page  # noqa: PLC0415 - while the application works
                from fisk_ai.toolkit.fisk import application  # noqa: PLC0415 - likewise

            loaded = application.finish(config, asked, environ=os.environ)
    no_color = bool(arguments.no_color or os.environ.get("NO_COLOR"))
    info_page.show(config, loaded, no_color=no_color)
    return 0
