"""What was meant by an ``application_path`` that names no program, and how it is written instead.

It is the path of one program: no shell reads it, so nothing is expanded in it or split off it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def advice(configured: str, directory: Path, places: Iterable[str]) -> str:
    """Return what to write instead, empty when nothing is known.

    ``directory`` is where relative paths start; bare names are looked for in ``places``.
    """
    if configured.startswith("~") or "$" in configured:
        return "neither ~ nor variables are expanded in it; write the whole path"
    if "/" not in configured and _is_file(directory / configured):
        return f"it lies beside the configuration; write ./{configured}"
    word = configured.split(maxsplit=1)[0] if configured.strip() else configured
    if word != configured and _is_program(word, directory, places):
        return (
            "it takes no arguments; write the path of the program alone (a script names its "
            "interpreter in its first line and is executable)"
        )
    return ""


def _is_program(word: str, directory: Path, places: Iterable[str]) -> bool:
    if _is_file(directory / word):
        return True
    return "/" not in word and any(shutil.which(word, path=place) for place in places)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises where a folder is closed to us
