"""A scan takes time in proportion to its text, whatever the text is."""

from __future__ import annotations

import time

import pytest

from fisk_ai.agent.pii.rules import Rule, compiled
from fisk_ai.agent.pii.scanner import RULES, Scan, build

NOISE_S = 0.1
"""What a scan may take that has nothing to do with its text."""

SHORT, LONG = 10_000, 80_000
"""Bytes of texts of one kind: where time grows with the square, the second takes 64 times as long
instead of eight times, and minutes where every byte counts."""

FRAGMENTS = [
    "-",
    "---BEGIN NATS USER JWT---",
    "---BEGIN A NKEY SEED---",
    "--- ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n",
    "a@",
    "a@a.",
    "a.",
    "@",
    "+1",
    "+1 2",
    "1 ",
    "4",
    "4111-",
    "AA00A",
    "DE89 ",
    "A ",
    "sk-",
    "sk-ant-",
    "xoxb-",
    "eyJa.",
    "eyJaaaaa-",
    "token ",
    "bearer\t ",
    "key",
    "key=",
    'key"',
    "key: aB3",
    "a_key.",
    "passport ",
    "dob ",
    "driver's license ",
    "\\",
    "\\u",
    "\\u003c",
    "\\/",
    "\\u005c",
    "\\u005cu005c",
    "\\u005c\\u0022",
    "\\\\\\\\u0040",
    "a\\u0040b.de ",
    "Basic YTpi",
    "next_token",
    "\\n",
    '\\\\"',
    "4111111111111111 ",
    '"id":4111111111111111,',
    "ID|4111111111111111\n",
    "[4111111111111111,",
    "[4111111111111111\n\n",
    '["password:",1234567890123456,',
    '{"password: ":1 ',
    '"-----BEGIN PRIVATE KEY-----",-----END PRIVATE KEY-----',
    "http://a:b",
    "http://a:b@c ",
    'password="a 1 ',
    "-----BEGIN PRIVATE KEY-----\na: ",
    "é",
    " ",
]


def timed(text: str) -> tuple[float, Scan]:
    """Scan and return how long this thread worked for it: other work does not count."""
    scanner = build()
    started = time.thread_time()
    scan = scanner.scan(text)
    return time.thread_time() - started, scan


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_long_text_made_to_be_searched_in_vain_is_searched_in_time(fragment: str) -> None:
    size = len(fragment.encode())
    text = fragment * (LONG // size)
    short_s, _ = timed(fragment * (SHORT // size))
    long_s, first = timed(text)
    _, second = timed(text + "!")
    assert long_s < 2 * LONG / SHORT * short_s + NOISE_S
    assert second.text.endswith("!") or second.found
    assert first.found or first.text == text


@pytest.mark.parametrize(
    ("headings", "cell"),
    [
        (("CARD A  " * 10, "CARD A  " * 500), "4111111111111111  "),
        (("user_id," * 10, "user_id," * 500), '"4111111111111111",'),
        (("b\tused", f"b\t{'used_' * 800}"), "4111111111111111 "),
    ],
)
def test_a_number_takes_no_longer_in_a_long_line_under_a_long_heading(
    headings: tuple[str, str], cell: str
) -> None:
    texts = [
        f"{heading}\n" + f"b\t{cell * cells}\n" * (5000 // cells)
        for heading, cells in zip(headings, (10, 200), strict=True)
    ]
    narrow_s, wide_s = (min(timed(text)[0] for _ in range(3)) for text in texts)
    scan = build().scan(texts[1])
    assert wide_s < 3 * narrow_s + NOISE_S
    assert scan.text.startswith(headings[1])
    assert scan.text.count("\n") == 1 + 5000 // 200


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_can_go_back_over_a_text(rule: Rule) -> None:
    # RE2 knows no pattern that has to be tried again from the same place.
    assert type(compiled(rule).pattern).__module__.startswith("re2")
