"""What becomes of an item before anything runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.jobs.admission import Moment, Verdict, judge
from fisk_ai.jobs.job import STATES, Job
from fisk_ai.text.clock import rfc3339

S = 1_000_000_000
NOW = 1_800_000_000 * S
MOMENT = Moment(NOW, 60 * S)


def job(**members: object) -> Job:
    return Job(id="a", type="t", created=rfc3339(NOW - 600 * S), **members)  # pyright: ignore[reportArgumentType] - fields of a job


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (job(state="active"), Verdict.LEAVE),
        (job(state="active", tried=rfc3339(NOW - 59 * S)), Verdict.LEAVE),
        (job(state="active", tried=rfc3339(NOW - 60 * S)), Verdict.RUN),
        (job(state="complete"), Verdict.DONE),
        (job(state="expired"), Verdict.DONE),
        (job(state="unreachable"), Verdict.DONE),
        (job(deadline=rfc3339(NOW - 1)), Verdict.EXPIRE),
        (job(deadline=rfc3339(NOW + 1)), Verdict.RUN),
        (job(state="complete", deadline=rfc3339(NOW - 1)), Verdict.DONE),
        (job(tries=10, max_tries=10), Verdict.EXPIRE),
        (job(tries=9, max_tries=10), Verdict.RUN),
        (job(tries=99, max_tries=0), Verdict.RUN),
        (job(state="blocked", dependencies=("p",)), Verdict.PARENTS),
        (job(state="blocked"), Verdict.RUN),
        (job(state="retry", dependencies=("p",)), Verdict.RUN),
        (job(state="terminated"), Verdict.RUN),
        (job(state="queue_error"), Verdict.RUN),
        (job(state=""), Verdict.RUN),
    ],
)
def test_each_row_of_the_table_is_decided_as_it_says(found: Job, verdict: Verdict) -> None:
    assert judge(found, MOMENT) is verdict


@given(
    st.builds(
        job,
        state=st.sampled_from(["", *STATES]),
        tries=st.integers(0, 20),
        max_tries=st.integers(-1, 20),
        deadline=st.sampled_from(["", rfc3339(NOW - 1), rfc3339(NOW + 1)]),
        tried=st.sampled_from(["", rfc3339(NOW), rfc3339(NOW - 61 * S)]),
    )
)
def test_nothing_runs_that_is_over_at_work_elsewhere_or_out_of_tries(found: Job) -> None:
    if judge(found, MOMENT) is Verdict.RUN:
        assert found.state not in ("complete", "expired", "unreachable")
        assert not 0 < found.max_tries <= found.tries
        assert found.deadline in ("", rfc3339(NOW + 1))
