from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.sessions import builtin, choice, store
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.store import StoreInfo

HOME = {"HOME": "/home/rip"}


@pytest.mark.parametrize(
    ("config", "directory"),
    [
        (StoreConfig(environ=HOME), "/home/rip/.local/state/fisk-ai/runs"),
        (StoreConfig(environ=HOME | {"XDG_STATE_HOME": "/state"}), "/state/fisk-ai/runs"),
        (
            StoreConfig(environ=HOME | {"XDG_STATE_HOME": "state"}),
            "/home/rip/.local/state/fisk-ai/runs",
        ),
        (StoreConfig(store_dir=Path("/base"), environ=HOME), "/base/runs"),
        (StoreConfig(store_dir=Path("/base"), options={"directory": "mine"}), "/base/mine"),
        (StoreConfig(store_dir=Path("/base"), options={"directory": "/mine"}), "/mine"),
        (StoreConfig(store_dir=Path("/base"), options={"directory": ""}), "/base/runs"),
        (StoreConfig(options={"directory": "mine"}, environ=HOME), "mine"),
    ],
)
def test_sessions_are_kept_where_they_were_asked_to_be(config: StoreConfig, directory: str) -> None:
    assert directory_of(config) == Path(directory)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"path": "/x"}, "harness.sessions.options.path"),
        ({"directory": 7}, "harness.sessions.options.directory"),
        ({"directory": "a\0b"}, "harness.sessions.options.directory"),
    ],
)
def test_a_wrong_option_is_refused_by_its_key(options: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError, match="invalid file session options") as refused:
        directory_of(StoreConfig(options=options))
    assert refused.value.key == key


def test_the_file_backend_is_registered_and_names_no_path(tmp_path: Path) -> None:
    assert builtin is not None
    assert "file" in store.names()
    assert store.new("file", StoreConfig(store_dir=tmp_path)).info() == StoreInfo("file", "")


def test_an_unknown_backend_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r'unknown session backend "disk": .*\[.*file.*\]'):
        store.new("disk", StoreConfig())


def test_a_backend_registers_once_and_under_a_name(tmp_path: Path) -> None:
    def factory(config: StoreConfig) -> store.Store:
        return FileStore(tmp_path)

    for name in ("", "file"):
        with pytest.raises(ValueError, match="session backend"):
            store.register(name, factory)


def test_options_are_checked_where_the_flag_replaces_their_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'unknown key "dri", known are \[directory\]'):
        choice.open_store(
            "file",
            StoreConfig(options={"dri": "x"}, environ=HOME),
            state_dir=str(tmp_path / "state"),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_check_makes_nothing(tmp_path: Path) -> None:
    store.check("file", StoreConfig(options={"directory": str(tmp_path / "runs")}))
    with pytest.raises(ConfigError, match=r"harness\.sessions\.options: unknown key"):
        store.check("file", StoreConfig(options={"dri": "x"}))
    with pytest.raises(ConfigError, match=r"harness\.sessions\.backend: unknown session backend"):
        store.check("disk", StoreConfig())
    assert list(tmp_path.iterdir()) == []
