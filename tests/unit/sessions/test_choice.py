"""Which store a process uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.sessions.choice import open_store
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.session_records import meta


async def test_a_state_directory_takes_the_place_of_the_configured_one(tmp_path: Path) -> None:
    options = {"directory": str(tmp_path / "configured")}
    typed = tmp_path / "typed"
    store = open_store("file", StoreConfig(options=options), state_dir=str(typed))
    await (await store.create("one", meta())).close()
    assert (typed / "one.json").is_file()
    assert not (tmp_path / "configured").exists()


def test_a_state_directory_is_refused_beside_a_backend_without_files(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"remove --state-dir, or set harness\.sessions\.backend to"
    ):
        open_store("jetstream", StoreConfig(), state_dir=str(tmp_path))


async def test_reading_makes_no_directory_and_needs_none_that_can_be_written(
    tmp_path: Path,
) -> None:
    place = tmp_path / "absent"
    for state_dir in (str(place), "/proc/sys"):
        store = open_store("file", StoreConfig(read_only=True), state_dir=state_dir)
        assert await store.list(Filter()) == []
    assert not place.exists()
