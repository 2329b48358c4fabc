from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import Config
from fisk_ai.config.citations import Placeholder, expand, scan
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


def pieces(text: str) -> list[str]:
    return [f"<{p.name}>" if isinstance(p, Placeholder) else p for p in scan(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("plain", ["plain"]),
        ("$1", ["<1>"]),
        ("a${1}b", ["a", "<1>", "b"]),
        ("$1x", ["<1x>"]),
        ("${1}x", ["<1>", "x"]),
        ("$name-$other", ["<name>", "-", "<other>"]),
        ("$$1", ["$", "1"]),
        ("$$$1", ["$", "<1>"]),
        ("$", ["$"]),
        ("a$", ["a", "$"]),
        ("$-x", ["$", "-x"]),
        ("${", ["$", "{"]),
        ("${}", ["$", "{}"]),
        ("${a-b}", ["$", "{a-b}"]),
        ("${a", ["$", "{a"]),
        ("$\u00e4\u0663_", ["<\u00e4\u0663_>"]),
    ],
)
def test_a_replacement_is_read_as_its_grammar_says(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("01", None),
        ("1x", None),
        ("a", None),
        ("\u0663", None),
        ("9" * 9, None),
    ],
)
def test_only_plain_digits_number_a_group(name: str, number: int | None) -> None:
    assert Placeholder(name).number == number


@given(st.text(st.sampled_from("$${}ab1_- ")))
def test_a_replacement_reads_back_as_it_was_spelled_out(text: str) -> None:
    spelled = "".join(
        f"${{{piece.name}}}" if isinstance(piece, Placeholder) else piece.replace("$", "$$")
        for piece in scan(text)
    )
    assert expand(spelled, marked) == expand(text, marked)


def marked(placeholder: Placeholder) -> str:
    return f"<{placeholder.name}>"


def rule(pattern: str, replace: str) -> str:
    return (
        "harness: {knowledge: {citations: "
        f"[{{pattern: 'ok', replace: 'ok'}}, {{pattern: '{pattern}', replace: '{replace}'}}]}}}}"
    )


@pytest.mark.parametrize(
    ("pattern", "replace"),
    [
        ("^docs/(.*)[.]md$", "https://d.example/$1#$anchor"),
        ("(?P<page>.*)", "https://d.example/${page}?n=$ordinal&h=${heading}"),
        ("x", "$0"),
        ("(?P<anchor>x)", "$anchor"),
        ("x", "costs $ 5 and $$5"),
        ("[[:alpha:]]+", "x"),
    ],
)
def test_a_rule_that_can_be_filled_is_accepted(read: Read, pattern: str, replace: str) -> None:
    assert read(rule(pattern, replace)).harness.knowledge.citations[1].pattern == pattern


@pytest.mark.parametrize(
    ("pattern", "replace", "said"),
    [
        ("", "x", "pattern is required"),
        ("x", "", "replace is required"),
        ("(", "x", 'pattern "(" does not compile: '),
        ("(?=x)", "x", 'pattern "(?=x)" does not compile: '),
        ("(a)", "$2", "replace uses $2, but the pattern has 1 group"),
        ("a", "$1", "replace uses $1, but the pattern has 0 groups"),
        ("(a)", "$1x", "replace uses $1x, which is neither a named group of the pattern nor"),
        ("(a)", "$01", "replace uses $01, which is neither"),
        ("(?P<a>x)", "${b}", "replace uses $b, which is neither"),
    ],
)
def test_a_rule_that_could_never_be_meant_is_refused_by_its_number(
    refusal: Refusal, pattern: str, replace: str, said: str
) -> None:
    error = refusal(rule(pattern, replace))
    assert error.key == "harness.knowledge.citations[1]"
    assert f"invalid harness.knowledge.citations[1]: {said}" in str(error)
