"""However a character is escaped in JSON, also in JSON in strings of JSON, it is read as itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fisk_ai.agent.pii.scanner import build

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dBjftJeZ4CVP"
SEED = "SU" + "A2B3C4D5" * 7

SECRETS = [
    ("{}", "ann@example.com"),
    ("<{}>", "jörg.müller@firma.de"),
    ("call {} now", "+49 30 123456789"),
    ("to {}.", "DE89 3704 0044 0532 0130 00"),
    ("{}", "4111 1111 1111 1111"),
    ("card: {}", "4111111111111111"),
    ("ssn {}", "536-22-1234"),
    ("dob: {}", "1980-02-03"),
    ("passport: {}", "C01X00T47"),
    ("driving licence {}", "MORGA657054SM9IJ"),
    ("postgres://app:{}@db:5432/x", "pa55word"),
    ("redis://:{}@h/0", "p\\d..ä"),
    ("password={}", "hunter2hunter2hunter2"),
    ('password="{}"', "hunter2hunter2hunter2"),
    ("password='{}'", "correct horse 7 battery"),
    ('"api_key" : "{}"', "ABCDEFGH12345678ijkl"),
    ("token: {}", "0123456789abcdef/0123"),
    ("client_secret: {}", "ab\\d9😀ß1234567890xyz"),
    ("{}", JWT),
    ("{}", "AKIAIOSFODNN7EXAMPLE"),
    ("{}", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpA/BAAKCAQEA7\n-----END RSA PRIVATE KEY-----"),
    ("{}\n\n", "-----BEGIN PRIVATE KEY-----\r\nMIIEpA/BAAKCAQEA7\r\nMIIEpAIBAAKC"),
    ("{}", f"-----BEGIN NATS USER JWT-----\n{JWT}\n------END NATS USER JWT------"),
    ("{}", f"-----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------"),
    ("{}", SEED),
    ("{}", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"),
    ("Authorization: Bearer {}", "abcdefghijklmnopqrstuv.wx/1"),
]

SURROUNDINGS = [
    "",
    " ",
    "\n",
    "\t",
    '"',
    "\\",
    "\\n",
    "C:\\new\\",
    "ü😀",
    "a: b, c\n",
    "{",
    "\ud83d",
]

Spelling = Callable[[str], str]


def spelling(seed: int, share: float) -> Spelling:
    """Return a way to write the inside of a string: any escape for any character."""
    random = Random(seed)

    def spelled(text: str) -> str:
        return "".join(escaped(char) if random.random() < share else short(char) for char in text)

    def escaped(char: str) -> str:
        units = char.encode("utf-16-be", "surrogatepass").hex(":", 2).split(":")
        return "".join("\\u" + random.choice([unit, unit.upper()]) for unit in units)

    def short(char: str) -> str:
        if char == "/":
            return random.choice(["/", "\\/"])
        return json.dumps(char, ensure_ascii=random.random() < 0.5)[1:-1]

    return spelled


SPELLINGS = st.builds(spelling, st.integers(0, 1 << 32), st.sampled_from([0.0, 0.1, 0.5, 1.0]))


def nested(text: str, ways: list[Spelling]) -> str:
    for spelled in ways:
        text = f'{{"n":1,"{spelled("text")}":"{spelled(text)}","z":[true]}}'
    return text


def unnested(text: str, levels: int) -> str:
    for _ in range(levels):
        read = json.loads(text)
        assert (read["n"], read["z"], list(read)) == (1, [True], ["n", "text", "z"])
        text = read["text"]
    return text


@pytest.mark.parametrize(("template", "secret"), SECRETS)
@given(
    ways=st.lists(SPELLINGS, min_size=1, max_size=3),
    before=st.sampled_from(SURROUNDINGS),
    after=st.sampled_from(SURROUNDINGS),
)
def test_a_value_is_found_however_it_is_escaped_and_the_documents_stay(
    template: str, secret: str, ways: list[Spelling], before: str, after: str
) -> None:
    text = f"{before}\n{template.format(secret)}\n{after}"
    scan = build().scan(nested(text, ways))
    assert scan.found
    read = unnested(scan.text, len(ways))
    assert read.startswith(f"{before}\n")
    assert read.endswith(f"\n{after}")
    assert secret not in read


@given(
    st.lists(SPELLINGS, min_size=1, max_size=3),
    st.text(st.sampled_from('ab=:/@"\\nu0d{}[], \n\t\x00ü😀\ud83d\udc00'), max_size=60),
)
@example([], "\\u005c\\u0022\\u005cu005cu005cu0022\\\\\\u0041")
def test_a_text_without_a_value_stays_as_it_is_written(ways: list[Spelling], text: str) -> None:
    written = nested(text, ways)
    scan = build().scan(written)
    assert scan.found or scan.text == written


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            r'{"u":"postgres:\/\/app:pa55word@db:5432\/x"}',
            r'{"u":"postgres:\/\/app:[SECRET-REDACTED]@db:5432\/x"}',
        ),
        (
            r'{"l":"password\u003dhunter2hunter2hunter2"}',
            r'{"l":"password\u003d[SECRET-REDACTED]"}',
        ),
        (
            r'{"l":"password\u003d\"hunter2hunter2hunter2\""}',
            r'{"l":"password\u003d\"[SECRET-REDACTED]\""}',
        ),
        (
            r'{"l":"password\u003d\u0022hunter2hunter2hunter2\u0022"}',
            r'{"l":"password\u003d\u0022[SECRET-REDACTED]\u0022"}',
        ),
        (r'{"e":"ann\u0040example.com"}', '{"e":"[EMAIL-REDACTED]"}'),
        (r'{"c":"4111\u00201111\u00201111\u00201111"}', '{"c":"[PAYMENT_CARD-REDACTED]"}'),
        (r'{"p":"C:\\","card":4111111111111111}', r'{"p":"C:\\","card":"[PAYMENT_CARD-REDACTED]"}'),
        (
            r'{"o":"{\u0022card\u0022:4111111111111111}"}',
            r'{"o":"{\u0022card\u0022:\"[PAYMENT_CARD-REDACTED]\"}"}',
        ),
    ],
)
def test_an_escape_is_replaced_as_a_whole_and_others_stay(written: str, expected: str) -> None:
    assert build().scan(written).text == expected


_CARD = 4111111111111111
_ODD_TEXT = st.text(
    st.sampled_from(['"', "\\", "/", "s", " ", "{", "}", "[", ":", ",", "\n", "é", "7"]),
    max_size=12,
)
_DOCUMENT = st.recursive(
    st.one_of(st.just(_CARD), st.booleans(), st.none(), st.integers(0, 9), _ODD_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.just("card"), _ODD_TEXT), inner, max_size=4),
        inner.map(json.dumps),
    ),
    max_leaves=12,
)


@given(
    st.one_of(st.lists(_DOCUMENT, max_size=4), st.dictionaries(_ODD_TEXT, _DOCUMENT, max_size=4))
)
@example({"script": 's/\\"/"/', "card": _CARD})
@example(['"', _CARD, '\\"', [_CARD]])
@example([json.dumps({"a": '\\"', "card": _CARD})])
def test_a_document_with_any_strings_is_a_document_still(document: object) -> None:
    text = json.dumps(document)
    read = json.loads(build().scan(text).text)
    assert str(_CARD) not in json.dumps(read)
    if isinstance(read, dict):
        assert list(read) == list(json.loads(text))  # pyright: ignore[reportUnknownArgumentType]


@given(st.lists(st.one_of(st.just(_CARD), _ODD_TEXT), max_size=6))
def test_only_the_numbers_of_a_document_change(items: list[object]) -> None:
    read = json.loads(build().scan(json.dumps({"card": items})).text)
    left = ["[PAYMENT_CARD-REDACTED]" if item == _CARD else item for item in items]
    assert read == {"card": left}
