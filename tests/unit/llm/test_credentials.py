"""Where the model's key comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.llm.credentials import KEY_FILE_LIMIT_BYTES, api_key


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("from-file \n\n", encoding="utf-8")
    return path


def test_a_typed_flag_comes_before_what_is_exported(key_file: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "exported", "ANTHROPIC_API_KEY_FILE": str(key_file)}
    assert api_key(environ, key="typed") == "typed"
    assert api_key(environ, key_file=str(key_file)) == "from-file"


def test_one_exported_source_is_used(key_file: Path) -> None:
    assert api_key({"ANTHROPIC_API_KEY": "exported"}) == "exported"
    assert api_key({"ANTHROPIC_API_KEY_FILE": str(key_file)}) == "from-file"
    assert api_key({}) == ""


def test_two_exported_sources_are_refused(key_file: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "exported", "ANTHROPIC_API_KEY_FILE": str(key_file)}
    with pytest.raises(ConfigError, match="both set; unset one of them"):
        api_key(environ)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b" \n", "is empty"),
        (b"\xff\xfe", "holds no text"),
        (b"x" * (KEY_FILE_LIMIT_BYTES + 1), "is too large to be a key"),
    ],
)
def test_a_file_without_a_key_is_refused_by_name(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        api_key({}, key_file=str(path))
    assert str(refused.value) == f'--api-key-file "{path}" {reason}'


def test_a_missing_file_is_refused_by_the_name_of_its_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^ANTHROPIC_API_KEY_FILE .* cannot be read"):
        api_key({"ANTHROPIC_API_KEY_FILE": str(tmp_path / "none")})
