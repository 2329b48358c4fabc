"""Make a Click program an agent's application.

::

    from fisk_ai.adapters.click import run, tags

    if __name__ == "__main__":
        run(cli)

Without arguments of fisk's own the program behaves as before. Rules:
``docs/reference/adapters.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from fisk_ai.adapters.entry import prepare
from fisk_ai.adapters.reading import ClickCommand
from fisk_ai.adapters.tags import tags

if TYPE_CHECKING:
    import click

__all__ = ["run", "tags"]


def run(
    command: click.Command,
    arguments: Sequence[str] | None = None,
    *,
    name: str = "",
    version: str = "",
) -> None:
    """Run the program, or describe it when it is called with ``--fisk-introspect``.

    ``arguments`` are those of the process unless given; ``name`` is the name of its file.

    Raises:
        RefusedError: an agent would misunderstand the program.
        SystemExit: as Click ends a program.
    """
    prepared = prepare(cast("ClickCommand", command), arguments, name=name, version=version)
    command.main(args=prepared, prog_name=name or None)
