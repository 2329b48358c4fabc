"""The flags of ``fisk-ai run`` and what is refused before anything is read or started.

A refusal looks at typed flags only: an exported variable never fails a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.cli.arguments import DEFAULT_CONFIG, CommandParser, exported
from fisk_ai.errors import UsageError
from fisk_ai.llm.anthropic.base_url import BASE_URL, check_base_url
from fisk_ai.llm.credentials import KEY, KEY_FILE
from fisk_ai.text.sanitise import clean_surrogates

PROMPT_LIMIT_BYTES = 780_000
"""What a prompt may take of one message; the rest of its 786432 bytes is for the header."""

_OF_THE_WORKER: Mapping[str, str] = {
    "api_key": "the worker's credential",
    "api_key_file": "the worker's credential",
    "base_url": "the address of the worker's model",
    "trace": "a file of the worker",
    "http_debug": "a file of the worker",
    "verbose": "the worker's own log",
    "state_dir": "the worker's session store",
    "no_telemetry": "the worker's export",
    "script": "the worker's model",
    "worker": "the program of a worker that is started here",
    "root_dir": "where the worker's commands start",
    "take_over": "for whoever opens the session store",
}
"""Flags that only an agent hosted here can honour, by whose or what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """What a person asked ``fisk-ai run`` for; ``None`` says that the flag was not typed.

    ``of_the_worker`` are the refusals of typed flags that an agent elsewhere cannot honour.
    ``base_url`` may come from the environment; ``types_base_url`` says that it was typed.
    """

    prompt: str
    config: str | None = None
    api_key: str | None = None
    api_key_file: str | None = None
    base_url: str = ""
    types_base_url: bool = False
    http_debug: bool = False
    a2a_debug: bool = False
    trace: str | None = None
    script: str | None = None
    worker: str | None = None
    no_color: bool = False
    no_tui: bool = False
    no_telemetry: bool = False
    verbose: bool = False
    tool_output: bool = False
    thinking: bool = False
    resume: str | None = None
    force: bool = False
    state_dir: str | None = None
    root_dir: str | None = None
    nats_context: str | None = None
    identity: str | None = None
    take_over: bool = False
    of_the_worker: tuple[str, ...] = ()

    @property
    def config_path(self) -> str:
        """The configuration file to read."""
        return self.config if self.config is not None else DEFAULT_CONFIG


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> RunFlags:
    """Read the arguments and pass the first gate.

    Raises:
        BadArgumentsError: they do not parse.
        UsageError, ConfigError: a combination that cannot be meant, or an address that is none.
    """
    flags, literal = _split_literal(argv)
    typed = vars(_parser().parse_intermixed_args(flags))
    prompt = _as_typed(" ".join([*typed["q"], *literal]))
    _first_gate(typed, prompt)
    address = check_base_url((typed["base_url"] or environ.get(BASE_URL, "")).strip())
    check_size(prompt)
    if typed["api_key"] is not None and typed["api_key_file"] is not None:
        raise UsageError(
            "--api-key-file cannot be used beside --api-key; pass one of them", key="--api-key-file"
        )
    return RunFlags(
        prompt=prompt,
        config=typed["config"],
        api_key=typed["api_key"],
        api_key_file=typed["api_key_file"],
        base_url=address,
        types_base_url=bool(address and typed["base_url"]),
        http_debug=_on(typed["http_debug"], environ, "HTTP_DEBUG"),
        a2a_debug=bool(typed["a2a_debug"]),
        trace=typed["trace"],
        script=typed["script"],
        worker=typed["worker"],
        no_color=bool(typed["no_color"] or environ.get("NO_COLOR")),
        no_tui=_on(typed["no_tui"], environ, "NO_TUI"),
        no_telemetry=bool(typed["no_telemetry"]),
        verbose=_on(typed["verbose"], environ, "VERBOSE"),
        tool_output=_on(typed["tool_output"], environ, "TOOL_OUTPUT"),
        thinking=_on(typed["thinking"], environ, "THINKING"),
        resume=typed["resume"],
        force=bool(typed["force"]),
        state_dir=typed["state_dir"],
        root_dir=typed["root_dir"],
        nats_context=typed["nats_context"],
        identity=typed["identity"],
        take_over=bool(typed["take_over"]),
        of_the_worker=tuple(_refusals(typed)),
    )


def _as_typed(words: str) -> str:
    """Return what the bytes of the arguments say: Python escapes all but ASCII in some locales."""
    try:
        return words.encode(errors="surrogateescape").decode(errors="replace")
    except UnicodeEncodeError:
        return clean_surrogates(words)


def _split_literal(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Cut the arguments at ``--``: argparse would look for flags behind it once more."""
    if "--" not in argv:
        return argv, ()
    cut = list(argv).index("--")
    return argv[:cut], argv[cut + 1 :]


def _on(typed: bool | None, environ: Mapping[str, str], name: str) -> bool:  # noqa: FBT001 - argparse's own value
    return bool(typed) or exported(environ, name)


def check_size(prompt: str) -> None:
    """Refuse a prompt that does not fit one message.

    Raises:
        UsageError: it is too long.
    """
    size = len(json.dumps(prompt, ensure_ascii=False).encode())  # as it is sent
    if size > PROMPT_LIMIT_BYTES:
        raise UsageError(
            f"the prompt is {size} bytes, over the limit of {PROMPT_LIMIT_BYTES}; "
            "shorten it, or let a tool read the text",
            key="prompt",
        )


def _first_gate(typed: Mapping[str, object], prompt: str) -> None:
    if typed["resume"] is not None and prompt:
        raise UsageError(
            "--resume does not take a query; the prompt is restored from the session",
            key="--resume",
        )
    if typed["force"] and typed["resume"] is None:
        raise UsageError("--force only applies when resuming", key="--force")
    if typed["take_over"] and typed["resume"] is None:
        raise UsageError("--take-over only applies when resuming", key="--take-over")
    if typed["identity"] is not None and typed["nats_context"] is None:
        raise UsageError(
            "--identity only applies with --nats-context: it names the agent to address on a bus, "
            "and the agent of this run has the identity its configuration gives it",
            key="--identity",
        )


def _refusals(typed: Mapping[str, object]) -> Iterator[str]:
    """Tell why each typed flag of the worker goes without an agent elsewhere."""
    for name, why in _OF_THE_WORKER.items():
        if typed[name] is not None:
            flag = "--" + name.replace("_", "-")
            yield (
                f"{flag} cannot be used with --nats-context: it is {why}; run it on the worker, "
                "or drop --nats-context to run the agent here"
            )


def _parser() -> CommandParser:
    parser = CommandParser(
        "fisk-ai run",
        "Talk to the agent; the words are joined to one prompt.",
        words="a prompt",
    )
    parser.add_argument("q", nargs="*", help="the prompt")
    parser.value("--config", "FILE", f"the agent's configuration (default {DEFAULT_CONFIG})")
    parser.value("--api-key", "KEY", f"the model's key ({KEY})")
    parser.value("--api-key-file", "FILE", f"a file that holds it ({KEY_FILE})")
    parser.value("--base-url", "URL", f"the model's address ({BASE_URL})")
    parser.value("--script", "FILE", "rehearse: play this script in place of the model")
    parser.value("--resume", "ID", "continue a session, or a conversation by its token")
    parser.switch("--force", "with --resume: go on although the configuration changed")
    parser.value("--state-dir", "DIR", "keep sessions in this directory")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    parser.switch("--thinking", "show reasoning (THINKING)")
    parser.switch("--tool-output", "show what tools return (TOOL_OUTPUT)")
    parser.switch("--verbose", "show the agent's log (VERBOSE)")
    parser.switch("--no-color", "print raw text (NO_COLOR)")
    parser.switch("--no-tui", "run one turn, also at a terminal (NO_TUI)")
    parser.value("--trace", "FILE", "write a trace of the model's traffic to a new file")
    parser.switch("--http-debug", "write the model's traffic to http-debug.log (HTTP_DEBUG)")
    parser.switch("--a2a-debug", "write every message to a2a-debug.log")
    parser.switch("--no-telemetry", "export nothing, as this release never does (NO_TELEMETRY)")
    parser.value("--worker", "FILE", "start this program of yours in place of the agent worker")
    parser.switch("--take-over", "with --resume: go on although the session's holder is silent")
    parser.value("--nats-context", "NAME", "talk to an agent elsewhere, over this NATS context")
    parser.value("--identity", "NAME", "the agent to address there")
    return parser
