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

from fisk_ai.adapters.click_reading import ClickCommand, Reader
from fisk_ai.adapters.entry import is_command, misused, prepare, told_to_author
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

    A program that is refused, because it is no Click command or an agent would misunderstand it,
    ends with status 1 and one sentence on stderr.

    Raises:
        SystemExit: as Click ends a program, or with 1 for a refused one.
    """
    with told_to_author():
        if not is_command(command):
            raise misused("run", "click", "a Click command or group", command)
        root = cast("ClickCommand", command)
        prepared = prepare(
            lambda called: Reader().program(root, name=called, version=version),
            arguments,
            name=name,
        )
    command.main(args=prepared, prog_name=name or None)
