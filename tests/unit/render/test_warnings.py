"""Advisories in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fisk_ai.render.warnings import SENTENCE_LIMIT, WORDED_KINDS, sentence
from fisk_ai.toolkit.contract import Advisory


@pytest.mark.parametrize(
    ("advisory", "words"),
    [
        (
            Advisory(kind="confirm_no_terminal", count=2),
            "2 tools need a person's approval, and nobody",
        ),
        (Advisory(kind="confirm_denied", name="wipe", error="declined"), "not run: declined"),
        (Advisory(kind="call_in_doubt", name="wipe", error="unknown"), "not run again: unknown"),
        (Advisory(kind="confirm_tag_unmatched", name="impact:x"), '"impact:x"'),
        (Advisory(kind="tool_timeout", name="slow"), "harness.tool_timeout"),
        (Advisory(kind="unknown_tool", name="ghost"), 'called "ghost"'),
        (Advisory(kind="missing_required", name="say", params=("text",)), "without text"),
        (Advisory(kind="approvals_dropped", count=1), "1 standing approval was dropped"),
        (Advisory(kind="approvals_dropped", count=3), "3 standing approvals were dropped"),
        (Advisory(kind="missing_required", name="say", error="a, b"), "without a, b"),
        (Advisory(kind="tool_set_drift"), "the tools changed since this conversation began"),
        (Advisory(kind="budget_drift", params=("max_tokens 1 -> 2",)), "began: max_tokens 1 -> 2"),
        (Advisory(kind="journal_close", error="disk full"), "disk full"),
        (Advisory(kind="hitl_no_terminal"), "nobody can be asked here: it is told so"),
        (Advisory(kind="confirm_no_terminal", count=1), "here: such calls are denied"),
        (Advisory(kind="tool_deferred", name="ask", error="ask later"), "for it: ask later"),
        (Advisory(kind="prompt_denied", name="no politics"), "was refused: no politics"),
        (Advisory(kind="max_iterations_interactive", count=50), "50 iterations"),
        (
            Advisory(kind="pii_redacted", name="the prompt", count=1, params=("EMAIL",)),
            "1 piece of personal data (EMAIL) in the prompt was redacted",
        ),
        (
            Advisory(kind="pii_withheld", name="say", count=2, params=("IBAN", "SSN")),
            '2 pieces of personal data (IBAN, SSN) in the result of "say" were withheld',
        ),
        (
            Advisory(kind="pii_withheld", name="say", error="over 1 MiB"),
            'the result of "say" could not be scanned for personal data and was withheld: over 1',
        ),
        (
            Advisory(kind="mcp_tools_changed", name="m", params=("added x", "removed y")),
            'MCP server "m" changed: added x; removed y',
        ),
        (Advisory(kind="mcp_tools_changed", name="m", error="gone"), "the old ones stay: gone"),
        (Advisory(kind="unknown_tool", name="{count}"), 'called "{count}"'),
    ],
)
def test_an_advisory_names_what_it_is_about(advisory: Advisory, words: str) -> None:
    assert words in sentence(advisory)


@pytest.mark.parametrize("kind", sorted(WORDED_KINDS))
def test_every_worded_kind_is_one_sentence_and_not_its_own_name(kind: str) -> None:
    line = sentence(Advisory(kind=kind, name="n", count=2, params=("p",), error="e"))
    assert not line.startswith(kind)
    assert "\n" not in line
    assert line[0].isalnum() or line[0] == '"'


def test_the_reference_lists_every_worded_kind() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "warnings.md"
    rows = [row for row in page.read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
    assert {
        kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])
    } == WORDED_KINDS


_NOT_RAISED = {
    "knowledge_index_absent",
    "mcp_tools_changed",
    "trace_close",
}


def test_every_worded_kind_is_raised_somewhere() -> None:
    packages = Path(__file__).parents[3] / "shared" / "fisk_ai"
    sources = [
        source
        for package in ("agent", "toolkit", "llm", "memory")
        for source in (packages / package).rglob("*.py")
    ]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    assert {kind for kind in WORDED_KINDS if f'"{kind}"' not in text} == _NOT_RAISED


def test_an_unknown_kind_shows_its_fields() -> None:
    advisory = Advisory(kind="novel", name="n", count=3, params=("a", "b"), error="e")
    assert sentence(advisory) == "novel: n: 3: a, b: e"


def test_a_warning_is_one_sanitised_line_of_bounded_length() -> None:
    line = sentence(Advisory(kind="journal_close", error="\x1b[31m" + "x\n" * 1000))
    assert "\x1b" not in line
    assert "\n" not in line
    assert len(line) <= SENTENCE_LIMIT + 1
