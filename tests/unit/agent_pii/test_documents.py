"""A document is one still after a scan, and the same but for what was replaced in it."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fisk_ai.agent.pii.scanner import build

CARD = 4111111111111111
CARD_PLACEHOLDER = "[PAYMENT_CARD-REDACTED]"
SECRETS = {
    "ann@example.com": "[EMAIL-REDACTED]",
    "4111 1111 1111 1111": CARD_PLACEHOLDER,
    "DE89 3704 0044 0532 0130 00": "[IBAN-REDACTED]",
    "+49 30 123456789": "[PHONE-REDACTED]",
    "AKIAIOSFODNN7EXAMPLE": "[SECRET-REDACTED]",
    "sk-ant-" + "a_B-1" * 6: "[API_KEY-REDACTED]",
    "-----BEGIN PRIVATE KEY-----\nMIIE/BAA\\KCAQ\n-----END PRIVATE KEY-----": "[SECRET-REDACTED]",
}
BEGINNINGS = [
    "password:",
    "the token=",
    "secret: '",
    "passport",
    "dob:",
    "-----BEGIN NATS USER JWT-----",
]
"""Ends of strings behind which a pattern goes on into what follows the string."""

Both = tuple[object, object]
"""A value with what is to be found in it, and the same with what is put in place of that."""

TEXTS = st.text(st.sampled_from('"\\/nu0x7é {}[]:,\n\t\x00\x1b'), max_size=10)


def same(value: object) -> Both:
    return value, value


def planted(before: str, secret: str, after: str) -> Both:
    return f"{before} <{secret}> {after}", f"{before} <{SECRETS[secret]}> {after}"


def listed(items: list[Both]) -> Both:
    return [item for item, _ in items], [item for _, item in items]


def mapped(items: list[tuple[Both, Both]]) -> Both:
    return (
        {name: value for (name, _), (value, _) in items},
        {name: value for (_, name), (_, value) in items},
    )


def written(both: Both) -> Both:
    return json.dumps(both[0]), json.dumps(both[1])


def in_a_string_or_not(chosen: tuple[Both, bool]) -> Both:
    both, is_string = chosen
    return written(both) if is_string else both


STRINGS = (
    TEXTS.map(same)
    | st.sampled_from(BEGINNINGS).map(same)
    | st.builds(planted, TEXTS, st.sampled_from(list(SECRETS)), TEXTS)
)
NUMBERS = st.sampled_from([0, -1.5, 7e22, 1234567890123456, 1764525136.123456, None, True])
SCALARS = STRINGS | st.just((CARD, CARD_PLACEHOLDER)) | NUMBERS.map(same)


def containers(inner: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
    # Names that read alike once redacted would be one name.
    pairs = st.lists(st.tuples(STRINGS, inner), max_size=4, unique_by=lambda pair: pair[0][1])
    documents = st.lists(inner, max_size=4).map(listed) | pairs.map(mapped)
    return st.tuples(documents, st.booleans()).map(in_a_string_or_not)


DOCUMENTS = st.recursive(SCALARS, containers, max_leaves=14)
LAYOUTS = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 2]),
        "separators": st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", " : ")]),
    }
)
COMPACT = {"separators": (",", ":")}


@given(DOCUMENTS, LAYOUTS)
@example(listed([same("my password:"), same(1234567890123456), same("x")]), {})
@example(listed([same("token="), same(1234567890123456), same("")]), COMPACT)
@example(written(listed([same("my password:"), same(1234567890123456), same("x")])), {})
@example((CARD, CARD_PLACEHOLDER), {})
def test_only_what_is_found_changes_in_a_document(both: Both, layout: dict[str, Any]) -> None:
    given, left = (json.dumps(one, **layout) for one in both)
    scan = build().scan(given)
    assert scan.text == left
    assert scan.found == (given != left)


BLOCKS = [
    ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "SECRET"),
    ("-----BEGIN NATS USER JWT-----", "------END NATS USER JWT------", "NATS_CREDENTIALS"),
    ("-----BEGIN USER NKEY SEED-----", "------END USER NKEY SEED------", "NATS_SEED"),
]


@pytest.mark.parametrize(("begin", "end", "kind"), BLOCKS)
@pytest.mark.parametrize("depth", range(4))
def test_a_key_in_a_list_of_its_lines_is_left_without_any(
    begin: str, end: str, kind: str, depth: int
) -> None:
    def nested(lines: list[str]) -> str:
        text = json.dumps({"stdout_lines": lines, "rc": 0})
        for _ in range(depth):
            text = json.dumps({"output": text})
        return text

    scan = build().scan(nested(["first", f"x {begin}", "MIIEpA/BAAKC", "", f"{end} y", "last"]))
    gone = f"[{kind}-REDACTED]"
    assert scan.text == nested(["first", f"x {gone}", gone, "", f"{gone} y", "last"])
    assert (scan.count, scan.types) == (1, (kind,))


def shape(value: object) -> object:
    """Return the value with another word for each string, names included."""
    if isinstance(value, dict):
        return {"values": [shape(one) for one in cast("dict[str, object]", value).values()]}
    if isinstance(value, list):
        return [shape(one) for one in cast("list[object]", value)]
    return "text" if isinstance(value, str) else value


@given(st.lists(TEXTS), TEXTS, st.sampled_from(BLOCKS))
def test_a_key_from_one_string_to_another_leaves_the_document_one(
    texts: list[str], text: str, block: tuple[str, str, str]
) -> None:
    begin, end, _ = block
    document = {"a": [text, {"b": f"{text} {begin}"}, 7], "c": [*texts, {end: [4.5]}, text]}
    scan = build().scan(json.dumps(document))
    assert shape(json.loads(scan.text)) == shape(document)
    assert begin not in scan.text
    assert end not in scan.text


def test_a_number_by_itself_becomes_a_string() -> None:
    for before, after in (("", ""), ("\n", " \n")):
        text = f"{before}{CARD}{after}"
        assert build().scan(text).text == f'{before}"{CARD_PLACEHOLDER}"{after}'


@given(STRINGS, TEXTS, st.sampled_from(["", "INFO [9] got ", '5" of 7": ', 'a\n\n"b ', "{} "]))
def test_a_document_behind_other_text_stays_one_whatever_that_is(
    both: Both, name: str, words: str
) -> None:
    given, left = (
        words + json.dumps({name: text, "n": [0], "card": card})
        for text, card in zip(both, (CARD, CARD_PLACEHOLDER), strict=True)
    )
    assert build().scan(given).text == left
