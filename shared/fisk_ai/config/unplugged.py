"""No plugin of pydantic sees what a configuration holds, and none is looked for.

Pydantic asks every installed package for plugins before it builds its first validator. One would
be called with every value of the file; and reading what packages say of themselves takes as long
as building the validator does.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

_LOADER: Final = "pydantic.plugin._loader"
"""The module that looks for plugins; pydantic imports it where it builds a validator."""


@contextmanager
def unplugged() -> Generator[None]:
    """Build validators without plugins inside; what is built elsewhere has them as ever."""
    loader = sys.modules.get(_LOADER)
    sys.modules[_LOADER] = _Absent(_LOADER)
    try:
        yield
    finally:
        del sys.modules[_LOADER]
        if loader is not None:
            sys.modules[_LOADER] = loader


class _Absent(ModuleType):
    """Stands where the loader would, and finds nothing."""

    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()
