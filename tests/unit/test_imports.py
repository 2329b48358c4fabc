"""The garbage collector while a process starts."""

from __future__ import annotations

import gc

import pytest

from fisk_ai.imports import uncollected


def test_nothing_is_collected_while_importing_and_everything_is_left_alone_afterwards() -> None:
    frozen = gc.get_freeze_count()
    try:
        with uncollected():
            assert not gc.isenabled()
            kept = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= frozen + len(kept)
    finally:
        gc.unfreeze()


def test_a_failed_import_leaves_the_collector_on() -> None:
    try:
        with pytest.raises(ImportError), uncollected():
            raise ImportError("absent")
        assert gc.isenabled()
    finally:
        gc.unfreeze()
