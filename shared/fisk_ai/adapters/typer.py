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

from fisk_ai.adapters.click_reading import ClickCommand, Reader
from fisk_ai.adapters.entry import misused, prepare, told_to_author
from fisk_ai.adapters.tags import tags
from fisk_ai.errors import RefusedError

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

    A program that is refused, because it is no Typer program or an agent would misunderstand it,
    ends with status 1 and one sentence on stderr.

    Raises:
        SystemExit: as Typer ends a program, or with 1 for a refused one.
    """
    with told_to_author():
        root = _root(app)
        prepared = prepare(
            lambda called: Reader().program(root, name=called, version=version),
            arguments,
            name=name,
        )
    app(args=prepared, prog_name=name or None)


def _root(app: object) -> ClickCommand:
    import typer.main  # noqa: PLC0415 - the program has imported Typer already

    if not isinstance(app, typer.Typer):
        raise misused("run", "typer", "a typer.Typer program", app)
    if not (app.registered_commands or app.registered_groups or app.registered_callback):
        raise RefusedError("the Typer program has no command: add one with @app.command()")
    return cast("ClickCommand", typer.main.get_command(app))
