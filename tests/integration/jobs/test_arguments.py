"""What a worker is told of its jobs on its command line."""

from __future__ import annotations

import pytest

from agent_worker.arguments import parse
from fisk_ai.errors import UsageError


def test_the_number_of_jobs_at_once_may_be_typed() -> None:
    assert parse(["--config", "x", "--workers", "3"]).job_workers == 3
    assert parse(["--config", "x"]).job_workers is None


@pytest.mark.parametrize("typed", ["0", "-1", "many"])
def test_a_number_of_jobs_that_cannot_be_meant_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="--workers"):
        parse(["--config", "x", "--workers", typed])
