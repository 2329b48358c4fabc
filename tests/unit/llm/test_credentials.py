"""Where the model's key comes from."""

from __future__ import annotations

import os
import traceback
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


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ConfigError) as refused:
        api_key({"ANTHROPIC_API_KEY_FILE": str(path)})
    assert str(refused.value) == (
        f'ANTHROPIC_API_KEY_FILE "{path}" is no regular file; export a key that a command prints '
        "as ANTHROPIC_API_KEY"
    )


def test_a_mounted_secret_is_a_link_and_is_followed(tmp_path: Path, key_file: Path) -> None:
    (tmp_path / "link").symlink_to(key_file)
    assert api_key({}, key_file=str(tmp_path / "link")) == "from-file"


def test_a_missing_file_is_refused_by_the_name_of_its_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^ANTHROPIC_API_KEY_FILE .* cannot be read"):
        api_key({"ANTHROPIC_API_KEY_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize(
    "key",
    [
        "sk-hunter2",
        "sk-ant-api03-Ab/Cd_ef",
        "sk-" + "hunter2" * 99,
        "hunter2hunter2hunter2",
        "aGVsbG8/d29y+bGQ4hunter2==",
        "eyJhbGciOiJ9.hunter2.c2ln",
    ],
)
@pytest.mark.parametrize("source", ["--api-key-file", "ANTHROPIC_API_KEY_FILE"])
def test_a_key_in_place_of_a_file_is_not_repeated(source: str, key: str) -> None:
    is_typed = source.startswith("--")
    with pytest.raises(ConfigError) as refused:
        api_key({} if is_typed else {source: key}, key_file=key if is_typed else None)
    assert str(refused.value) == f"{source} names no readable file; is it the key itself?"
    assert key not in "".join(traceback.format_exception(refused.value, chain=True, limit=0))


@pytest.mark.parametrize("name", ["key.txt", "/run/secrets/anthropic_key_1", "./k2" + "x" * 30])
def test_a_name_that_is_a_path_is_shown(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        api_key({}, key_file=name)
    assert f'"{name}"' in str(refused.value)


def test_a_file_that_is_called_like_a_key_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sk-file").write_text("from-file", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert api_key({}, key_file="sk-file") == "from-file"


def test_a_name_no_file_can_have_is_refused_in_plain_words() -> None:
    with pytest.raises(ConfigError, match="a character no file name has"):
        api_key({}, key_file="a\0b")
