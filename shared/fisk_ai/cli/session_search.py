"""``fisk-ai session search``: the sessions that fit every filter."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from fisk_ai.cli.session_flags import add_page, directory_of, page_of, parser_of, with_store
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.session_ls import left_out_of, say_left_out
from fisk_ai.cli.session_patterns import Match, match_of
from fisk_ai.cli.session_table import listing, newest_first
from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.render.width import terminal_width
from fisk_ai.sessions.records import Status
from fisk_ai.sessions.store import Filter, RunInfo
from fisk_ai.text import clock

_STATUSES: tuple[str, ...] = get_args(Status)
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a session must be; ``identity`` is looked at apart, for it counts what it hides."""

    identity: str | None
    model: str | None
    caller: str | None
    status: str | None
    since_ns: int | None
    until_ns: int | None
    match: Match | None

    def keeps(self, row: RunInfo) -> bool:
        return (
            self.model in (None, row.model)
            and self.caller in (None, row.caller)
            and self.status in (None, row.status)
            and self._is_in_time(row)
            and (self.match is None or self.match(row.prompt))
        )

    def _is_in_time(self, row: RunInfo) -> bool:
        created_ns = clock.rfc3339_ns(row.created)
        begins_late = self.since_ns is None or created_ns >= self.since_ns
        return begins_late and (self.until_ns is None or created_ns <= self.until_ns)


def search(argv: Sequence[str]) -> int:
    """Print the sessions that the arguments ask for."""
    arguments = _parser().parse_args(argv)
    page, wanted = page_of(arguments), _wanted(arguments)
    rows = with_store(arguments, lambda store: store.list(Filter()))
    kept = [row for row in rows if wanted.keeps(row)]
    nameless = [row for row in kept if wanted.identity is not None and not row.agent]
    found = newest_first([row for row in kept if wanted.identity in (None, row.agent)])
    shown = page.cut(found, "sessions")
    if arguments.json:
        runs = [_members(row) for row in shown]
        print(machine_text({"runs": runs, "no_agent_excluded": len(nameless)}))
    else:
        _print(shown, arguments)
        _say_nameless(len(nameless))
    page.say_more(found, "sessions")
    say_left_out(left_out_of(directory_of(arguments), rows), arguments)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("search", "Find sessions; filters are combined.")
    parser.value("--identity", "NAME", "sessions of this agent")
    parser.value("--model", "NAME", "sessions with this model")
    parser.value("--caller", "NAME", "sessions that this caller began")
    parser.value("--status", "|".join(_STATUSES), "sessions that stand so")
    parser.value("--since", "WHEN", "sessions begun since: 24h, 2026-07-24, or an RFC 3339 time")
    parser.value("--until", "WHEN", "sessions begun until then")
    parser.value("--match", "RE", "sessions whose prompt matches")
    parser.switch("--json", "print JSON for other programs")
    add_page(parser)
    return parser


def _wanted(arguments: argparse.Namespace) -> _Wanted:
    if arguments.status is not None and arguments.status not in _STATUSES:
        raise UsageError(f"--status is one of {' '.join(_STATUSES)}", key="--status")
    return _Wanted(
        identity=arguments.identity,
        model=arguments.model,
        caller=arguments.caller,
        status=arguments.status,
        since_ns=_moment_ns(arguments.since, "--since"),
        until_ns=_moment_ns(arguments.until, "--until"),
        match=match_of(arguments.match, "--match"),
    )


def _moment_ns(text: str | None, flag: str) -> int | None:
    """Return the moment a flag names: a duration back, a date at local midnight, or a time."""
    if text is None:
        return None
    try:
        return clock.rfc3339_ns(text)
    except ValueError:
        pass
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").astimezone().timestamp()) * _NS
    except (ValueError, OverflowError):
        pass
    from fisk_ai.config.duration import parse_duration  # noqa: PLC0415 - loads the configuration

    try:
        age_s = parse_duration(text)
        if age_s < 0:
            raise ConfigError("a moment to come")
        return time.time_ns() - int(age_s * _NS)
    except ConfigError as exc:
        raise UsageError(
            f"{flag} takes a duration such as 24h, a date such as 2026-07-24 or an RFC 3339 time",
            key=flag,
        ) from exc


def _print(rows: Sequence[RunInfo], arguments: argparse.Namespace) -> None:
    if not rows:
        print("No sessions matched")
        return
    by_time = arguments.since is not None or arguments.until is not None
    used = {
        "Agent": arguments.identity is not None,
        "Caller": arguments.caller is not None,
        "Created": by_time,
    }
    extras = [name for name, is_used in used.items() if is_used]
    print(listing(rows, width=terminal_width(), extras=extras))


def _say_nameless(count: int) -> None:
    if count:
        what = "1 session names" if count == 1 else f"{count} sessions name"
        print(f"{what} no agent and is in no answer to --identity", file=sys.stderr)


def _members(row: RunInfo) -> dict[str, object]:
    return present(
        run_id=row.run_id,
        agent=row.agent,
        caller=row.caller,
        model=row.model,
        status=row.status,
        created=row.created,
        updated=row.updated,
        ended=row.ended,
    ) | {"prompt": row.prompt}
