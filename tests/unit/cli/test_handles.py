"""What ``--resume`` names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.cli.handles import FinishedError, Handle, find_handle
from fisk_ai.cli.stores import opened
from fisk_ai.errors import ConfigError, CorruptError, RefusedError, UsageError
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Payload
from fisk_ai.testing import session_records as written


async def _store(directory: Path, token: str) -> FileStore:
    store = FileStore(directory)
    journal = await store.create("known", replace(written.meta(), conversation_token=token))
    await journal.close()
    return store


async def test_a_session_is_continued_by_its_token(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    assert await find_handle(store, "known", identity="cow", scripted=True) == Handle(
        token="secret", session_id="known"
    )


async def _held_by_token(directory: Path, *payloads: Payload) -> tuple[FileStore, str]:
    """Return a store with a session under the id that its token amounts to."""
    store = FileStore(directory)
    session_id = session_id_for_token("cow", "secret")
    journal = await store.create(
        session_id, replace(written.meta(), conversation_token="secret", agent="cow")
    )
    for payload in payloads:
        await journal.append(journal.last_seq() + 1, payload)
    await journal.close()
    return store, session_id


async def test_a_token_names_its_session_like_the_sessions_id(tmp_path: Path) -> None:
    store, session_id = await _held_by_token(tmp_path)
    by_token = await find_handle(store, "secret", identity="cow", scripted=True)
    assert by_token == await find_handle(store, session_id, identity="cow", scripted=True)
    assert (by_token.token, by_token.session_id) == ("secret", session_id)
    assert by_token.state is not None
    with pytest.raises(RefusedError, match=f'session "{session_id}" was played by a script'):
        await find_handle(store, "secret", identity="cow", scripted=False)


async def test_a_complete_session_is_told_by_its_token_as_well(tmp_path: Path) -> None:
    done = (written.assistant(say="Moo."), written.terminal())
    store, session_id = await _held_by_token(tmp_path, *done)
    for text in (session_id, "secret"):
        with pytest.raises(FinishedError, match=f'"{session_id}" has already comp') as finished:
            await find_handle(store, text, identity="cow", scripted=True)
        assert answer_of(finished.value.messages) == "Moo."
    chat = await find_handle(store, "secret", identity="cow", scripted=True, chat=True)
    assert chat.session_id == session_id


async def test_a_token_of_another_agent_names_no_session_of_this_one(tmp_path: Path) -> None:
    store, _ = await _held_by_token(tmp_path)
    assert await find_handle(store, "secret", identity="owl", scripted=True) == Handle("secret")


@pytest.mark.parametrize("text", ["unknown", "-x", "x" * 128, "_"])
async def test_what_is_no_session_here_is_a_token(tmp_path: Path, text: str) -> None:
    store = await _store(tmp_path, "secret")
    assert await find_handle(store, text, identity="cow", scripted=True) == Handle(token=text)


@pytest.mark.parametrize("text", ["", "../known", "*", ">", "a b", "known\n", "x" * 129, "é"])
async def test_what_can_be_neither_is_refused(tmp_path: Path, text: str) -> None:
    store = await _store(tmp_path, "secret")
    with pytest.raises(UsageError, match="neither a session id nor a conversation token"):
        await find_handle(store, text, identity="cow", scripted=True)


async def test_a_session_without_a_token_says_where_it_can_be_read(tmp_path: Path) -> None:
    store = await _store(tmp_path, "")
    with pytest.raises(RefusedError) as refused:
        await find_handle(store, "known", identity="cow", scripted=True)
    assert str(refused.value) == (
        'session "known" cannot be continued: it was written before conversations had tokens, '
        "and is readable with 'fisk-ai session show known'"
    )


async def test_a_session_that_a_script_played_asks_for_a_script(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    with pytest.raises(RefusedError) as refused:
        await find_handle(store, "known", identity="cow", scripted=False)
    assert str(refused.value) == (
        'the model of session "known" was played by a script; resume it with --script FILE'
    )


async def test_a_damaged_session_is_not_taken_for_a_token(tmp_path: Path) -> None:
    store = await _store(tmp_path, "secret")
    journal = tmp_path / "known.json"
    journal.write_bytes(b"damage\n" + journal.read_bytes())
    with pytest.raises(CorruptError):
        await find_handle(store, "known", identity="cow", scripted=True)


async def test_a_state_directory_is_refused_beside_another_backend(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("harness: {sessions: {backend: cloud}}\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        async with opened(
            config_path=str(config), state_dir=str(tmp_path), root_dir=None, environ={}
        ):
            raise AssertionError(config)
