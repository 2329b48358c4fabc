"""What ``--resume`` names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.cli.handles import Handle, find_handle
from fisk_ai.cli.stores import open_store
from fisk_ai.errors import ConfigError, CorruptError, RefusedError, UsageError
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing import session_records as written


async def _store(directory: Path, token: str) -> FileStore:
    store = FileStore(directory)
    journal = await store.create("known", replace(written.meta(), conversation_token=token))
    await journal.close()
    return store


async def test_a_session_is_continued_by_its_token(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    assert await find_handle(store, "known", scripted=True) == Handle(
        token="secret", session_id="known"
    )


@pytest.mark.parametrize("text", ["unknown", "-x", "x" * 128, "_"])
async def test_what_is_no_session_here_is_a_token(tmp_path: Path, text: str) -> None:
    store = await _store(tmp_path, "secret")
    assert await find_handle(store, text, scripted=True) == Handle(token=text)


@pytest.mark.parametrize("text", ["", "../known", "*", ">", "a b", "known\n", "x" * 129, "é"])
async def test_what_can_be_neither_is_refused(tmp_path: Path, text: str) -> None:
    store = await _store(tmp_path, "secret")
    with pytest.raises(UsageError, match="neither a session id nor a conversation token"):
        await find_handle(store, text, scripted=True)


async def test_a_session_without_a_token_says_where_it_can_be_read(tmp_path: Path) -> None:
    store = await _store(tmp_path, "")
    with pytest.raises(RefusedError) as refused:
        await find_handle(store, "known", scripted=True)
    assert str(refused.value) == (
        'session "known" cannot be continued: it was written before conversations had tokens, '
        "and is readable with 'fisk-ai session show known'"
    )


async def test_a_session_that_a_script_played_asks_for_a_script(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    with pytest.raises(RefusedError) as refused:
        await find_handle(store, "known", scripted=False)
    assert str(refused.value) == (
        'the model of session "known" was played by a script; resume it with --script FILE'
    )


async def test_a_damaged_session_is_not_taken_for_a_token(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    journal = tmp_path / "known.json"
    journal.write_bytes(b"damage\n" + journal.read_bytes())
    with pytest.raises(CorruptError):
        await find_handle(store, "known", scripted=True)


def test_a_state_directory_is_refused_beside_another_backend(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("harness: {sessions: {backend: cloud}}\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        open_store(config_path=str(config), state_dir=str(tmp_path), root_dir=None, environ={})
