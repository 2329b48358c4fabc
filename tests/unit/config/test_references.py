from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import references
from fisk_ai.config.references import (
    Reference,
    parse,
    redact_url,
    refused_url,
    resolve,
    without_values,
)
from fisk_ai.errors import ConfigError

ENVIRON = {"TOKEN": "s3cret-token", "EMPTY": "", "_x1": "one"}
FILES = {"/run/key": "from-file", "a b.txt": "spaced"}


def resolved(text: str) -> str:
    return resolve(text, variable=ENVIRON.get, read_file=FILES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("${TOKEN}", "s3cret-token"),
        ("Bearer ${TOKEN}!", "Bearer s3cret-token!"),
        ("${_x1}${EMPTY}${_x1}", "oneone"),
        ("${file:/run/key}", "from-file"),
        ("<${file:a b.txt}>", "<spaced>"),
        ("$TOKEN", "$TOKEN"),
        ("$", "$"),
        ("$$", "$$"),
        ("$${_x1}", "$one"),
        ("a}b", "a}b"),
    ],
)
def test_a_reference_is_replaced_by_what_it_names(text: str, expected: str) -> None:
    assert resolved(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${TOKEN", "a ${ is not closed"),
        ("x ${ y", "a ${ is not closed"),
        ("${}", "${} names nothing"),
        ("${file:}", "${file:} names nothing"),
        ("${1A}", '"1A" is no name of a variable'),
        ("${A-B}", '"A-B" is no name of a variable'),
        ("${ A}", '" A" is no name of a variable'),
        ("${\u00e4}", "is no name of a variable"),
        ("${A\n}", "is no name of a variable"),
    ],
)
def test_a_reference_that_cannot_be_read_is_told_with_the_rule(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert said in str(caught.value)
    assert str(caught.value).endswith(references.RULE)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match='environment variable "ABSENT" is not set'):
        resolved("${ABSENT}")


def test_what_references_stand_for_is_taken_out_of_messages_when_it_is_long_enough() -> None:
    text = "https://${TOKEN}.example/${_x1}"
    secrets = references.values(text, variable=ENVIRON.get, read_file=FILES.__getitem__)
    assert secrets == ("s3cret-token", "one")
    said = without_values("refused by s3cret-token.example: one", secrets)
    assert said == "refused by REDACTED.example: one"


_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
_paths = st.text(st.characters(codec="utf-8", exclude_characters="}\x00"), min_size=1, max_size=12)
_literals = st.text(max_size=8).filter(lambda text: "$" not in text)
_pieces = st.one_of(
    _literals,
    st.builds(Reference, st.just("variable"), _names),
    st.builds(Reference, st.just("file"), _paths),
)


@given(st.lists(_pieces, max_size=6))
def test_what_is_written_as_references_is_read_back(pieces: list[str | Reference]) -> None:
    def spelled(piece: str | Reference) -> str:
        if isinstance(piece, str):
            return piece
        return f"${{{'file:' if piece.kind == 'file' else ''}{piece.name}}}"

    text = "".join(map(spelled, pieces))
    read = parse(text)
    assert "".join(map(spelled, read)) == text
    assert [part for part in read if isinstance(part, Reference)] == [
        part for part in pieces if isinstance(part, Reference)
    ]


@given(st.text(st.sampled_from("${}:fileA1_ \n")))
def test_any_text_is_either_read_whole_or_refused(text: str) -> None:
    try:
        parts = parse(text)
    except ConfigError:
        return
    length = sum(
        len(part) if isinstance(part, str) else len(part.name) + 3 + 5 * (part.kind == "file")
        for part in parts
    )
    assert length == len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("https://h.example:8443/a/b", "https://h.example:8443/a/b"),
        ("https://user:pw@h/a", "https://REDACTED@h/a"),
        ("https://${USER}@h/a", "https://${USER}@h/a"),
        ("https://u:${PW}@h/a", "https://REDACTED@h/a"),
        ("https://u:p@w@h/a", "https://REDACTED@h/a"),
        ("https://u:p/w@h/a", "https://REDACTED@h/a"),
        ("https://h/@scope/x", "https://h/@scope/x"),
        ("https://[::1]:80/a", "https://[::1]:80/a"),
        ("https://@h", "https://@h"),
        ("https://h?key=abc&x=", "https://h?key=REDACTED&x="),
        ("https://h?abc", "https://h?REDACTED"),
        ("https://h?a=${K}&b=x${K}", "https://h?a=${K}&b=REDACTED"),
        ("https://h?${K}", "https://h?${K}"),
        ("https://h?a=b=c;d=e", "https://h?a=REDACTED;d=REDACTED"),
        ("https://h?&&a=1", "https://h?&&a=REDACTED"),
        ("https://h#frag", "https://h#REDACTED"),
        ("https://h#${F}", "https://h#${F}"),
        ("https://h?a=1#b?c=d", "https://h?a=REDACTED#REDACTED"),
        ("https://h/${file:/x?y#z@w}", "https://h/${file:/x?y#z@w}"),
        ("--url=https://u:p@h/?k=v", "--url=https://REDACTED@h/?k=REDACTED"),
        ("--depth=3", "--depth=3"),
        ("${BASE}/mcp", "${BASE}/mcp"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(text: str, shown: str) -> None:
    assert redact_url(text) == shown
    assert redact_url(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("h:80/a", "h:80/a"),
        ("ftp://user:hunter2@h/a?k=hunter2", "ftp://REDACTED@h/a?k=REDACTED"),
        ("ftp://h/a", "ftp://h/a"),
        ("user:hunter2@h", "REDACTED"),
        ("ftp://user:hunter2#x@h", "REDACTED"),
        ("ftp://user:hunter2?x@h", "REDACTED"),
        ("ftp://user:2/hunter2@h", "REDACTED"),
    ],
)
def test_of_a_refused_address_nothing_is_shown_that_may_end_a_password(
    text: str, shown: str
) -> None:
    assert refused_url(text) == shown


_word = st.text(st.sampled_from(string.ascii_lowercase + string.digits), min_size=1, max_size=6)
_secret = st.text(st.sampled_from("ABCDEFGH/:@=%~"), min_size=8, max_size=16)
_password = st.one_of(
    _secret.filter(lambda text: "@" not in text), _secret.filter(lambda text: "/" not in text)
)
"""One with an ``@`` in front of a ``/`` reads like a host and its path."""


@given(_word, _password, _secret, _secret, _secret)
def test_no_part_of_a_secret_survives(
    host: str, password: str, value: str, segment: str, fragment: str
) -> None:
    bare = segment.replace("=", "")
    url = f"https://robot:{password}@{host}/path?k={value}&{bare}#{fragment}"
    tail = "&REDACTED#REDACTED" if bare else "&#REDACTED"
    assert redact_url(url) == f"https://REDACTED@{host}/path?k=REDACTED{tail}"
