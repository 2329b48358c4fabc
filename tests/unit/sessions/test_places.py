"""Where relative paths start."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.sessions.places import root_directory


def test_a_root_directory_flag_is_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "base").mkdir()
    monkeypatch.chdir(tmp_path)
    assert root_directory("base", "/elsewhere") == tmp_path / "base"
    assert root_directory(None, str(tmp_path)) == tmp_path
    assert root_directory(None, "") is None
    with pytest.raises(ConfigError, match="root_directory must be an absolute path"):
        root_directory(None, "base")
