"""The command line of the worker; written by whoever starts it, a terminal or an operator."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from fisk_ai.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What this process was told on its command line.

    ``hosted`` serves one terminal over its private broker; ``no_operator`` says that nobody sits
    there, so that no grant of an earlier run counts either. ``take_over`` says that the operator
    there gives up a holder of the session that is silent. ``ready_fd`` takes the one line that says
    whether the start succeeded; ``owner_fd`` is a pipe that closes when the terminal is gone.
    ``secrets_fd`` is a nameless file with the variables that are in nobody's environment.
    ``trace`` and ``http_debug`` are files made anew for the model's traffic. ``embedded`` says that
    the broker of this process is its supervisor's own, whatever contexts the file names.
    ``job_workers`` replaces the file's number, ``work_dir`` is where command tools run.
    """

    config: Path
    script: Path | None = None
    hosted: bool = False
    no_operator: bool = False
    take_over: bool = False
    state_dir: Path | None = None
    root_dir: Path | None = None
    trace: Path | None = None
    http_debug: Path | None = None
    ready_fd: int | None = None
    owner_fd: int | None = None
    secrets_fd: int | None = None
    verbose: bool = False
    embedded: bool = False
    job_workers: int | None = None
    work_dir: Path | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse as every other start-up error is refused."""
        raise UsageError(message)


def parse(argv: Sequence[str]) -> Arguments:
    """Read the arguments.

    Raises:
        UsageError: they cannot be meant.
    """
    parser = _Parser(prog="agent_worker", description="Run the agent of one agent.yaml.")
    parser.add_argument("--config", type=Path, required=True, help="the configuration file")
    parser.add_argument("--script", type=Path, help="play this script in place of the model")
    parser.add_argument("--hosted", action="store_true", help="serve one terminal")
    parser.add_argument(
        "--no-operator", action="store_true", help="with --hosted: nobody sits at that terminal"
    )
    parser.add_argument(
        "--take-over", action="store_true", help="with --hosted: resume past a silent holder"
    )
    parser.add_argument("--state-dir", type=Path, help="keep sessions in this directory")
    parser.add_argument("--root-dir", type=Path, help="replace root_directory")
    parser.add_argument("--trace", type=Path, help="write the model's traffic there, a line each")
    parser.add_argument("--http-debug", type=Path, help="write the model's HTTP messages there")
    parser.add_argument("--ready-fd", type=_descriptor, help="descriptor for the ready line")
    parser.add_argument(
        "--owner-fd", type=_descriptor, help="descriptor that closes with the owner"
    )
    parser.add_argument(
        "--secrets-fd", type=_descriptor, help="descriptor of the file that the secrets are in"
    )
    parser.add_argument(
        "--embedded", action="store_true", help="the given broker stands for every context"
    )
    parser.add_argument("--workers", type=_count, dest="job_workers", help="jobs at once")
    parser.add_argument("--work-dir", type=Path, help="run command tools in this directory")
    parser.add_argument("--verbose", action="store_true", help="log at debug level")
    return Arguments(**vars(parser.parse_args(argv)))


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _descriptor(text: str) -> int:
    number = int(text)
    if number <= 2:
        raise ValueError(text)  # the standard streams are nobody's to close
    return number
