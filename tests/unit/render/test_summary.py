"""The closing lines."""

from __future__ import annotations

from fisk_ai.render.summary import RunSummary, Totals, usage_line


def test_usage_counts_cached_input_and_names_the_bound() -> None:
    totals = Totals(input=120, output=15, cache_read=100)
    assert usage_line(totals, 1000) == "135 of 1000 tokens (120 in / 15 out)"
    assert usage_line(totals, 0) == "120 tokens in / 15 out"


def test_nothing_is_said_of_a_run_without_tokens() -> None:
    assert usage_line(Totals(), 1000) == ""


def test_the_summary_leaves_out_what_cannot_be_known() -> None:
    summary = RunSummary(session_id="", model="", totals=Totals(), latency_s=3.61349)
    assert (
        summary.line()
        == "Run summary: llm_calls=0 tool_calls=0 tokens=0/0 thinking=0 latency=3.613s"
    )


def test_a_run_that_told_no_usage_is_given_none() -> None:
    totals = Totals(llm_calls=1)
    summary = RunSummary(session_id="t", model="", totals=totals, latency_s=1, counted=False)
    assert summary.line() == "Run summary: session=t llm_calls=1 tool_calls=0 latency=1.000s"


def test_the_summary_holds_everything_in_order() -> None:
    totals = Totals(
        input=150, output=20, cache_read=30, cache_create=20, thinking=5, llm_calls=2, tool_calls=1
    )
    summary = RunSummary(
        session_id="t-1",
        model="m\x1b[0m",
        totals=totals,
        latency_s=1,
        suspended=True,
        verbose=True,
        trace_id="abc",
        exported=True,
    )
    assert summary.line() == (
        "Run suspended: session=t-1 model=m llm_calls=2 tool_calls=1 tokens=100/20 thinking=5 "
        "cached=30 cache_write=20 latency=1.000s trace=abc content=exported"
    )
