"""Which stream keeps the sessions, what it must be like, and which subject is whose.

Decided here: a stream is taken as it is and never made, and one that could lose or overwrite a
record is refused before a run begins. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fisk_ai.bus.jetstream import NO_STREAM, JetStream
from fisk_ai.bus.stream_info import StreamConfig
from fisk_ai.errors import AbsentError, BusError, SetupError, StreamError
from fisk_ai.sessions.fence_proof import keeps_fence
from fisk_ai.sessions.stream_option import OPTION_KEY, creation, subjects_of
from fisk_ai.text.ids import valid_session_id

MESSAGE_SIZE_BYTES: Final = 1_048_576
"""What stream and server must take; less passes the first records and fails in mid-run."""

SERVER_NEEDED: Final = "2.14"
"""The oldest that is known to keep the fence of sessions."""

META: Final = "_meta"
"""Last token of the subject of a session's first record; no number can be mistaken for it."""

_PREFIX_TOKEN: Final = re.compile(r"[^\s.*>]+")


@dataclass(frozen=True, slots=True)
class Place:
    """A stream fit for sessions, and where each record lies in it."""

    js: JetStream
    stream: str
    prefix: str

    def record(self, run_id: str, seq: int) -> str:
        """Return the subject of one record."""
        return f"{self.prefix}.{run_id}.{META if seq == 1 else seq}"

    def run(self, run_id: str) -> str:
        """Return the subjects of all records of a session."""
        return f"{self.prefix}.{run_id}.>"

    def metas(self) -> str:
        """Return the subjects of the first records of all sessions."""
        return f"{self.prefix}.*.{META}"

    def run_of(self, subject: str) -> str:
        """Return whose record ``subject`` is; empty when that could be no session's id."""
        run_id = subject.removeprefix(f"{self.prefix}.").partition(".")[0]
        return run_id if valid_session_id(run_id) else ""


def seq_of(subject: str) -> int:
    """Return the number of the record on ``subject``; 0 when it is no record's."""
    last = subject.rpartition(".")[2]
    if last == META:
        return 1
    return int(last) if last.isascii() and last.isdecimal() and len(last) < 20 else 0


async def bind(js: JetStream, stream: str, *, writes: bool) -> Place:
    """Look at the stream and return it as a place for sessions.

    Whoever ``writes`` has the server prove first that it keeps the fence between two writers.

    Raises:
        SetupError: there is none, or it could lose or overwrite a record; says what to change.
    """
    try:
        info = await js.stream(stream)
    except StreamError as exc:
        if exc.err_code != NO_STREAM:
            raise _unusable(stream, str(exc)) from exc
        raise _unusable(
            stream,
            "it does not exist; make it with 'fisk-ai provision --apply', or with:"
            f" {creation(stream)}",
            AbsentError,
        ) from exc
    except BusError as exc:
        raise _unusable(stream, str(exc)) from exc
    for fault in _faults(info.config):
        raise _unusable(stream, fault)
    if js.connection.max_payload < MESSAGE_SIZE_BYTES:
        raise _unusable(
            stream,
            f"its server takes messages of at most {js.connection.max_payload} bytes, raise"
            f" max_payload to {MESSAGE_SIZE_BYTES} or more",
        )
    place = Place(js, stream, _prefix(info.config))
    if writes:
        await _require_fence(place)
    return place


async def _require_fence(place: Place) -> None:
    try:
        kept = await keeps_fence(place.js, place.prefix)
    except BusError as exc:
        raise _unusable(place.stream, str(exc)) from exc
    if not kept:
        raise _unusable(
            place.stream,
            "its server lets two writers of a session record side by side; run nats-server"
            f" {SERVER_NEEDED} or newer",
        )


def _prefix(config: StreamConfig) -> str:
    return _wild(config.subjects)[0].removesuffix(".>")


def _faults(config: StreamConfig) -> list[str]:
    """Return what is wrong with a stream, each with the flag that mends it."""
    return [fault for check in _CHECKS if (fault := check(config))]


def keeps_sessions(subjects: Sequence[str]) -> bool:
    """Say whether records can lie on ``subjects``: one with wildcards, ``<prefix>.>``."""
    wild = _wild(subjects)
    if len(wild) != 1:
        return False
    *prefix, last = wild[0].split(".")
    return bool(prefix) and last == ">" and all(map(_PREFIX_TOKEN.fullmatch, prefix))


def _wild(subjects: Sequence[str]) -> list[str]:
    return [subject for subject in subjects if set(subject.split(".")) & {"*", ">"}]


def _wrong_subjects(config: StreamConfig) -> str:
    if keeps_sessions(config.subjects):
        return ""
    return (
        f"its subjects with wildcards are {_wild(config.subjects)}, and one of the shape prefix.>"
        f" is needed: set --subjects '{subjects_of(config.name)}'"
    )


def _many_messages(config: StreamConfig) -> str:
    return _differs("max_msgs_per_subject", config.max_msgs_per_subject, 1)


def _discards_old(config: StreamConfig) -> str:
    return _differs("discard", config.discard, "new", flag="--discard=new")


def _discards_newest(config: StreamConfig) -> str:
    if config.discard_new_per_subject:
        return ""
    return (
        "it would overwrite a record (discard_new_per_subject is false): set --discard-per-subject"
    )


def _forgets(config: StreamConfig) -> str:
    if config.max_age == 0:
        return ""
    return f"its messages expire after {config.max_age // 10**9} s (max_age): set --max-age=0"


def _takes_too_little(config: StreamConfig) -> str:
    size = config.max_msg_size
    if size <= 0 or size >= MESSAGE_SIZE_BYTES:
        return ""
    return (
        f"it takes messages of at most {size} bytes (max_msg_size): set"
        f" --max-msg-size={MESSAGE_SIZE_BYTES} or more, or -1"
    )


def _differs(name: str, found: object, wanted: object, *, flag: str = "") -> str:
    if found == wanted:
        return ""
    change = flag or f"--{name.replace('_', '-')}={wanted}"
    return f"its {name} is {found} and must be {wanted}: set {change}"


_CHECKS: Final[tuple[Callable[[StreamConfig], str], ...]] = (
    _wrong_subjects,
    _many_messages,
    _discards_old,
    _discards_newest,
    _forgets,
    _takes_too_little,
)


def _unusable(stream: str, reason: str, kind: type[SetupError] = SetupError) -> SetupError:
    return kind(f'the session stream "{stream}" cannot be used: {reason}', key=OPTION_KEY)
