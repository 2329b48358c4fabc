"""``fisk-ai turn ls``: the turns that were set aside, or with ``--queued`` those that wait."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.a2a import subjects
from fisk_ai.a2a.durable.binding import stream_of
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.a2a.durable.turn import Sent
from fisk_ai.bus.jetstream import MESSAGE_ID
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.times import local_time
from fisk_ai.cli.turn_place import TurnPlace, at_place, parser_of, shown
from fisk_ai.cli.turn_words import thread_of, wish_of
from fisk_ai.errors import UsageError
from fisk_ai.render.tables import within
from fisk_ai.render.width import terminal_width
from fisk_ai.text.ids import valid_token
from fisk_ai.text.sanitise import for_terminal

PROMPT_LIMIT = 50
REASON_LIMIT = 60
"""Code points of foreign text in a row."""

_DEAD = ("Turn", "Agent", "Channel", "Thread", "Reason", "Tries", "When", "Prompt")
_QUEUED = ("Turn", "Agent", "Channel", "Thread", "When", "Prompt")


def ls(argv: Sequence[str]) -> int:
    """List turns, newest first."""
    parser = parser_of("ls", "List turns that were set aside, newest first.")
    parser.value("--channel", "NAME", "those of this channel alone")
    parser.switch("--queued", "list what still waits in the queue instead")
    parser.switch("--json", "print JSON for other programs")
    arguments = parser.parse_args(argv)
    channel = arguments.channel or "*"
    if arguments.channel and not valid_token(channel):
        raise UsageError("--channel takes the name of a channel, such as slack", key="--channel")
    identity, rows = at_place(
        arguments, lambda place: _rows(place, channel, queued=bool(arguments.queued))
    )
    rows.sort(key=lambda each: each.seq, reverse=True)
    if arguments.json:
        members = [_members(each, identity) for each in rows]
        print(machine_text({"turns": members}))
    elif rows:
        print(_table(rows, identity, queued=bool(arguments.queued)))
    else:
        print("No turn waits" if arguments.queued else "No dead turns")
    return 0


async def _rows(place: TurnPlace, channel: str, *, queued: bool) -> tuple[str, list[DeadTurn]]:
    found = await (_queued(place, channel) if queued else place.letters(channel))
    return place.identity, list(found)


async def _queued(place: TurnPlace, channel: str) -> list[DeadTurn]:
    """Return what is in the queue, taken or not; no consumer may look into a work queue."""
    subject = subjects.turn(place.identity, SLACK.name)
    stream = await stream_of(place.js, subject, key="--nats-context")
    pattern = subject.removesuffix(SLACK.name) + channel
    found: list[DeadTurn] = []
    after = 0
    while (stored := await place.js.next_after(stream, after, pattern)) is not None:
        after = stored.seq
        found.append(
            DeadTurn(
                seq=stored.seq,
                channel=stored.subject.rpartition(".")[2],
                event=stored.headers.get(MESSAGE_ID, ""),
                reason="",
                tries=0,
                time=stored.time,
                sent=Sent(stored.body, stored.headers),
            )
        )
    return found


def _table(rows: Sequence[DeadTurn], identity: str, *, queued: bool) -> str:
    header = _QUEUED if queued else _DEAD
    last = len(header) - 1
    least = {last: 12, 3: 12} if queued else {last: 12, 4: 12, 3: 12}
    cells = [_cells(each, identity, queued=queued) for each in rows]
    return within(header, cells, width=terminal_width(), least=least, whole=1)


def _cells(each: DeadTurn, identity: str, *, queued: bool) -> tuple[str, ...]:
    place = (shown(each.event), identity, shown(each.channel), shown(thread_of(each.sent)))
    why = () if queued else (for_terminal(each.reason, REASON_LIMIT), str(each.tries))
    return (
        *place,
        *why,
        local_time(each.time),
        for_terminal(wish_of(each.sent), PROMPT_LIMIT),
    )


def _members(each: DeadTurn, identity: str) -> dict[str, object]:
    return present(
        turn=each.event,
        agent=identity,
        channel=each.channel,
        thread=thread_of(each.sent),
        reason=each.reason,
        tries=each.tries or None,
        time=each.time,
        prompt=wish_of(each.sent),
    )
