"""Make a Typer program an agent's application.

::

    from fisk_ai.adapters.typer import run, tags

    if __name__ == "__main__":
        run(app)

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
    import typer

__all__ = ["run", "tags"]


def run(
    app: typer.Typer,
    arguments: Sequence[str] | None = None,
    *,
    name: str = "",
    version: str = "",
) -> None:
    """Run the program, or describe it when it is called with ``--fisk-introspect``.

    ``arguments`` are those of the process unless given; ``name`` is the name of its file.

    Raises:
        RefusedError: an agent would misunderstand the program.
        SystemExit: as Typer ends a program.
    """
    from typer.main import get_command  # noqa: PLC0415 - the program has imported Typer already

    root = cast("ClickCommand", get_command(app))
    app(args=prepare(root, arguments, name=name, version=version), prog_name=name or None)
