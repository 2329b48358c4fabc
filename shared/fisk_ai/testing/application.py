"""A wrapped application made of a list: a real program that describes itself and keeps count.

Every call leaves a line in a file the moment it starts, so a test can say how often a command
really ran, with which words, and for which call of which session. Starting it costs a bare
interpreter and nothing else.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

_SCRIPT = """\
#!{python} -IS
import os, sys
WORDS = sys.argv[1:]
HERE = {directory!r}
if WORDS == ["--fisk-introspect"]:
    with open(HERE + "/document.json", "rb") as document:
        sys.stdout.buffer.write(document.read())
    sys.exit(0)
COMMANDS = {commands!r}
def record(kind):
    line = repr((kind, os.getpid(), WORDS, os.environ.get("FISK_AI_CALL", ""), os.getcwd()))
    calls = os.open(HERE + "/calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(calls, (line + "\\n").encode("utf-8", "surrogateescape"))
    os.close(calls)
for path, stdout, stderr, echo, shows_pid, exit_code, sleep_s, wait_for, environment in COMMANDS:
    if WORDS[: len(path)] == path:
        break
else:
    sys.exit("unknown command: " + " ".join(WORDS))
record("started")
if stderr:
    sys.stderr.write(stderr)
    sys.stderr.flush()
sys.stdout.write(stdout + (" ".join(WORDS) + "\\n" if echo else ""))
if shows_pid:
    sys.stdout.write(str(os.getpid()) + "\\n")
for name in environment:
    sys.stdout.write(name + "=" + os.environ.get(name, "(unset)") + "\\n")
sys.stdout.flush()
if sleep_s or wait_for:
    import time
    time.sleep(sleep_s)
    while wait_for and not os.path.exists(wait_for):
        time.sleep(0.01)
record("ended")
sys.exit(exit_code)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeFlag:
    """A flag; ``type`` is the JSON type its schema shows."""

    name: str
    help: str = ""
    type: str = "string"
    boolean: bool = False
    negatable: bool = False
    cumulative: bool = False
    required: bool = False
    hidden: bool = False
    default: Sequence[str] = ()
    completions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeArg:
    """A positional argument."""

    name: str
    help: str = ""
    type: str = "string"
    required: bool = False
    cumulative: bool = False
    hidden: bool = False
    default: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeCommand:
    """A leaf command and what it does; ``path`` holds its words, separated by blanks.

    It prints ``stderr``, then ``output``, with ``echo`` its own words, with ``shows_pid`` its
    process id, and the variables named in ``show_environment``; then it sleeps, waits until the
    file ``wait_for`` exists, and ends with
    ``exit_code``.
    """

    path: str
    help: str = "A command"
    help_long: str = ""
    tags: Sequence[str] = ()
    flags: Sequence[FakeFlag] = ()
    args: Sequence[FakeArg] = ()
    hidden: bool = False
    output: str = ""
    stderr: str = ""
    echo: bool = False
    shows_pid: bool = False
    exit_code: int = 0
    sleep_s: float = 0.0
    wait_for: Path | None = None
    show_environment: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One start of the program: its words, its call and whether it came to its end."""

    words: tuple[str, ...]
    call_ref: str
    directory: Path
    pid: int
    ended: bool

    @property
    def line(self) -> str:
        """Return the words as one line."""
        return " ".join(self.words)


@dataclass(slots=True)
class FakeApplication:
    """Writes the program into ``directory`` when it is made; ``path`` is what to configure."""

    directory: Path
    commands: Sequence[FakeCommand]
    name: str = "fake"
    global_flags: Sequence[FakeFlag] = ()
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.path = self.directory / self.name
        document = json.dumps(self.document(), separators=(",", ":"), sort_keys=False)
        (self.directory / "document.json").write_text(document + "\n", encoding="utf-8")
        self.path.write_text(self._script(), encoding="utf-8")
        self.path.chmod(0o755)

    def document(self) -> dict[str, object]:
        """Return what the program prints of itself."""
        root: dict[str, object] = {"name": self.name, "help": "A program for tests"}
        for command in self.commands:
            _add(root, command.path.split(), _command(command))
        if self.global_flags:
            root["flags"] = [_flag(flag) for flag in self.global_flags]
        return root

    def calls(self) -> list[RecordedCall]:
        """Return every call so far, in the order they started."""
        file = self.directory / "calls"
        if not file.exists():
            return []
        rows = [_row(line) for line in file.read_text(encoding="utf-8").splitlines()]
        ended = {pid for kind, pid, *_ in rows if kind == "ended"}
        return [
            RecordedCall(
                words=tuple(words),
                call_ref=call_ref,
                directory=Path(directory),
                pid=pid,
                ended=pid in ended,
            )
            for kind, pid, words, call_ref, directory in rows
            if kind == "started"
        ]

    def count(self, command: str) -> int:
        """Return how often a command was started."""
        path = tuple(command.split())
        return sum(call.words[: len(path)] == path for call in self.calls())

    def _script(self) -> str:
        table = [
            (
                command.path.split(),
                command.output,
                command.stderr,
                command.echo,
                command.shows_pid,
                command.exit_code,
                command.sleep_s,
                str(command.wait_for or ""),
                list(command.show_environment),
            )
            for command in sorted(self.commands, key=lambda each: -len(each.path.split()))
        ]
        return _SCRIPT.format(
            python=sys.executable, directory=str(self.directory.absolute()), commands=table
        )


def _row(line: str) -> tuple[str, int, list[str], str, str]:
    return cast("tuple[str, int, list[str], str, str]", ast.literal_eval(line))


def _add(node: dict[str, object], path: Sequence[str], leaf: dict[str, object]) -> None:
    children = cast("list[dict[str, object]]", node.setdefault("commands", []))
    if len(path) == 1:
        children.append({"name": path[0], **leaf})
        return
    for child in children:
        if child["name"] == path[0]:
            _add(child, path[1:], leaf)
            return
    group: dict[str, object] = {"name": path[0], "help": "A group"}
    children.append(group)
    _add(group, path[1:], leaf)


def _command(command: FakeCommand) -> dict[str, object]:
    visible = [item for item in (*command.args, *command.flags) if not item.hidden]
    schema: dict[str, object] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {item.name: _value(item) for item in visible},
    }
    required = [item.name for item in visible if item.required]
    if required:
        schema["required"] = required
    body: dict[str, object] = {"help": command.help, "restricted_schema": schema}
    optional: dict[str, object] = {
        "help_long": command.help_long,
        "tags": list(command.tags),
        "hidden": command.hidden,
        "flags": [_flag(flag) for flag in command.flags],
        "args": [_arg(arg) for arg in command.args],
    }
    return body | {key: value for key, value in optional.items() if value}


def _value(item: FakeFlag | FakeArg) -> dict[str, object]:
    counter = isinstance(item, FakeFlag) and item.boolean and item.cumulative
    if isinstance(item, FakeFlag) and item.boolean:
        kind = "integer" if counter else "boolean"
    else:
        kind = item.type
    value: dict[str, object] = {"description": item.help, "type": kind}
    if item.cumulative and not counter and kind != "object":
        value |= {"type": "array", "items": {"type": kind}}
    return value


def _flag(flag: FakeFlag) -> dict[str, object]:
    body: dict[str, object] = {
        "name": flag.name,
        "help": flag.help,
        "boolean": flag.boolean,
        "cumulative": flag.cumulative,
    }
    optional: dict[str, object] = {
        "default": list(flag.default),
        "required": flag.required,
        "hidden": flag.hidden,
        "negatable": flag.negatable,
        "completions": list(flag.completions),
    }
    return body | {key: value for key, value in optional.items() if value}


def _arg(arg: FakeArg) -> dict[str, object]:
    body: dict[str, object] = {"name": arg.name, "help": arg.help, "cumulative": arg.cumulative}
    optional: dict[str, object] = {
        "default": list(arg.default),
        "required": arg.required,
        "hidden": arg.hidden,
    }
    return body | {key: value for key, value in optional.items() if value}
