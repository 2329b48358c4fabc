from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.tasks import store
from fisk_ai.tasks.builtin import store as registered
from fisk_ai.tasks.file import directory_of
from fisk_ai.tasks.store import TaskConfig
from fisk_ai.testing import task_store


async def test_the_file_backend_is_there_and_keeps_tasks_below_the_base(tmp_path: Path) -> None:
    made = registered.new("file", TaskConfig(store_dir=tmp_path))
    assert (made.info().backend, made.info().location) == ("file", "")
    await made.submit(task_store.request())
    assert (tmp_path / "tasks" / "one.json").is_file()


@pytest.mark.parametrize(
    ("option", "base", "expected"),
    [
        ("", None, "tasks"),
        ("", "/base", "/base/tasks"),
        ("mine", "/base", "/base/mine"),
        ("/mine", "/base", "/mine"),
    ],
)
def test_a_relative_directory_is_below_the_base(
    option: str, base: str | None, expected: str
) -> None:
    options = {"directory": option} if option else {}
    config = TaskConfig(options=options, store_dir=Path(base) if base else None)
    assert directory_of(config) == Path(expected)


def test_an_unknown_backend_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r'unknown task store backend "x": known backends are \[file jetstream\]'
    ):
        registered.new("x", TaskConfig())


@pytest.mark.parametrize("options", [{"dir": "x"}, {"directory": 7}, {"directory": "a\0b"}])
def test_options_that_are_none_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="invalid file task store options: "):
        registered.new("file", TaskConfig(options=options))


@pytest.mark.parametrize("name", ["", "file"])
def test_a_backend_needs_a_name_of_its_own(name: str) -> None:
    assert "file" in registered.names()
    with pytest.raises(ValueError, match="task store backend"):
        store.register(name, lambda _: registered.new("file", TaskConfig()))
