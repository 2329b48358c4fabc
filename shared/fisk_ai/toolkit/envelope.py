"""How the result of a command is written down for a model, and read back by whoever shows it."""

from __future__ import annotations

import msgspec

from fisk_ai.text import gojson
from fisk_ai.toolkit.contract import CommandExec


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
