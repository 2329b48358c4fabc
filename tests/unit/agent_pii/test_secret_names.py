"""Which names promise a secret, and which a place in a list or the key of a table."""

from __future__ import annotations

import pytest

from fisk_ai.agent.pii.scanner import build

SECRET = "aB3dE5gH7jK9mN1p"
LONG_SECRET = SECRET * 2
ACCOUNT_KEY = "aB3dE5gH7j/" * 7 + "K9mN1p"

CURSORS = """
page token|next token|next page token|previous page token|prev token|continuation token
pagination token|cursor token|paging token|next continuation token|last evaluated key|next key
current page token|query next token|search page token|new page token
"""
CURSORS_BUT_IN_CAPITALS = """
starting token|start token|skip token|sync token|next sync token|delta token|scroll token
continue token|next forward token|next backward token|upload sequence token
start key|exclusive start key
"""
TABLE_KEYS = """
partition key|sort key|foreign key|public key|shard key|row key|idempotency key|user partition key
"""
TABLE_KEYS_BUT_IN_CAPITALS = """
primary key|cache key|object key|group key|index key|lookup key|range key|unique key
"""
SECRETS = """
facebook page token|github sync token|page access token|next auth token|access token|refresh token
session token|deploy token|csrf token|user token|stripe skip token|api key|user start key
page api key|hot key|master key|client secret|next secret|page secret|db password|page password
wifi passphrase|root passwd|admin pwd
"""


def names(table: str) -> list[list[str]]:
    return [name.split() for line in table.split("\n") if line for name in line.split("|")]


def spellings(words: list[str]) -> list[str]:
    capitals = [word.capitalize() for word in words]
    first, *others = capitals
    return [
        "_".join(words),
        "-".join(words),
        "--" + "-".join(words),
        ".".join(words),
        "".join(capitals),
        first.lower() + "".join(others),
        "-".join(capitals),
    ]


def setting(words: list[str]) -> str:
    return "_".join(words).upper()


def assigned(name: str) -> list[str]:
    return [
        f"{name}={SECRET}",
        f"{name}: {SECRET}",
        f"{name} = '{SECRET}'",
        f'{{"{name}":"{SECRET}"}}',
        f'{{\n  "{name}": "{SECRET}"\n}}',
    ]


def left_alone(text: str) -> bool:
    return build().scan(text).text == text


def redacted(text: str) -> bool:
    return build().scan(text).text == text.replace(SECRET, "[SECRET-REDACTED]")


@pytest.mark.parametrize("words", names(CURSORS + TABLE_KEYS), ids=" ".join)
def test_a_cursor_and_a_key_of_a_table_are_left_alone_in_every_spelling(words: list[str]) -> None:
    for name in (*spellings(words), setting(words), f"export {setting(words)}"):
        assert all(map(left_alone, assigned(name))), name


@pytest.mark.parametrize(
    "words", names(CURSORS_BUT_IN_CAPITALS + TABLE_KEYS_BUT_IN_CAPITALS), ids=" ".join
)
def test_what_only_an_answer_calls_a_cursor_is_a_secret_among_settings(words: list[str]) -> None:
    for name in spellings(words):
        assert all(map(left_alone, assigned(name))), name
    assert all(map(redacted, assigned(setting(words))))


@pytest.mark.parametrize("words", names(SECRETS), ids=" ".join)
def test_whatever_else_is_called_a_key_or_a_token_is_a_secret(words: list[str]) -> None:
    for name in (*spellings(words), setting(words), f"export {setting(words)}"):
        assert all(map(redacted, assigned(name))), name


@pytest.mark.parametrize(
    "words",
    [words for words in names(CURSORS + CURSORS_BUT_IN_CAPITALS) if words[-1] == "token"],
    ids=" ".join,
)
def test_a_cursor_behind_an_option_or_in_words_is_left_alone(words: list[str]) -> None:
    spaced = " ".join(words)
    for text in (
        f"list --{'-'.join(words)} {LONG_SECRET}",
        f"{spaced} {LONG_SECRET}",
        f"the {spaced} {LONG_SECRET} is",
        f"{spaced.capitalize()} = {SECRET}",
        f"{spaced.title()}: {SECRET}",
    ):
        assert left_alone(text), text


@pytest.mark.parametrize("words", [["facebook", "page", "token"], ["user", "token"]], ids=" ".join)
def test_a_token_in_words_is_somebodys_when_they_name_them(words: list[str]) -> None:
    spaced = " ".join(words)
    for text in (f"{spaced} {LONG_SECRET}", f"--{'-'.join(words)} {LONG_SECRET}"):
        assert SECRET not in build().scan(text).text
    assert redacted(f"{spaced} = {SECRET}")


@pytest.mark.parametrize("padding", ["", "=", "=="])
def test_the_primary_key_of_an_account_is_a_secret(padding: str) -> None:
    value = ACCOUNT_KEY + padding
    for text in (f'primaryKey: "{value}"', f'{{"primary_key":"{value}"}}', f"PRIMARY_KEY={value}"):
        assert ACCOUNT_KEY not in build().scan(text).text


def test_the_primary_key_of_a_row_is_left_alone() -> None:
    for value in (SECRET, "9fceb02d0ae598e95dc970b74767f19372d61af8", "E3B0C442" * 8):
        assert left_alone(f'{{"primaryKey":"{value}"}}')
