"""How the result of a command is written down for a model, and read back by whoever shows it."""

from __future__ import annotations

import re

import msgspec

from fisk_ai.text import gojson
from fisk_ai.toolkit.contract import CommandExec

_CHARACTER = r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})'
_BEGINNING = re.compile(
    rf'\{{"command":(?P<command>"{_CHARACTER}*+"),"exit_code":(?P<exit_code>-?\d{{1,10}}),'
    rf'"output":(?P<output>"{_CHARACTER}*+)(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?'
    r"(?P<behind>[\x00-\x1f][\s\S]*)?\Z"
)
"""An envelope up to anywhere in its output; a character that JSON escapes begins a note."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a command printed, beside its line and status; ``exit_code`` -1 means a signal."""

    command: str
    exit_code: int
    output: str
    truncated: bool = False


def render(exec: CommandExec, output: str) -> str:  # noqa: A002 - the outcome's own word
    """Return the compact JSON text a model reads; ``truncated`` appears only when true."""
    body: dict[str, object] = {
        "command": exec.command,
        "exit_code": exec.exit_code,
        "output": output,
    }
    if exec.truncated:
        body["truncated"] = True
    return gojson.dumps(body).decode()


def parse(text: str) -> Envelope | None:
    """Read an envelope back; ``None`` for any other text, such as a function tool's own JSON."""
    try:
        return msgspec.json.decode(text.encode(errors="replace"), type=Envelope)
    except (msgspec.DecodeError, RecursionError):
        return None


def parse_beginning(text: str) -> tuple[Envelope, str] | None:
    """Read an envelope that was cut inside its output, and what stands behind the cut.

    Returns ``None`` for any other text.
    """
    found = _BEGINNING.match(text)
    if found is None:
        return None
    read = Envelope(
        command=str(gojson.loads(found["command"])),
        exit_code=int(found["exit_code"]),
        output=str(gojson.loads(found["output"] + '"')),
    )
    return read, found["behind"] or ""
