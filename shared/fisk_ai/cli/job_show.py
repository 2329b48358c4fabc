"""``fisk-ai job show``: one job at a glance, with its answer."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.cli.job_document import as_json, page
from fisk_ai.cli.job_flags import parser_of, target_of, with_jobs


def show(argv: Sequence[str]) -> int:
    """Show the job that the arguments name."""
    parser = parser_of("show", "Show one job.")
    parser.add_argument("id", help="the job's id")
    parser.switch("--json", "print it as JSON for other programs")
    arguments = parser.parse_args(argv)
    target = target_of(arguments)
    job = with_jobs(target, lambda jobs: jobs.store.load(arguments.id)).job
    print(as_json(job, target.identity) if arguments.json else page(job, target.identity))
    return 0
