"""The flags of ``fisk-ai serve`` and what is refused before anything is read or started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.cli.arguments import CommandParser, exported
from fisk_ai.cli.run_flags import DEFAULT_CONFIG
from fisk_ai.cli.services import SERVICES
from fisk_ai.cli.session_flags import number_of
from fisk_ai.errors import UsageError
from fisk_ai.llm.anthropic.base_url import BASE_URL, check_base_url
from fisk_ai.llm.credentials import KEY, KEY_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeFlags:
    """What an operator asked for; ``service`` is empty for the supervisor of all of them.

    ``job_workers`` is ``None`` unless it was typed.
    """

    service: str = ""
    config: str = DEFAULT_CONFIG
    embedded_broker: bool = False
    script: str | None = None
    job_workers: int | None = None
    state_dir: str | None = None
    root_dir: str | None = None
    work_dir: str | None = None
    api_key: str | None = None
    api_key_file: str | None = None
    base_url: str = ""
    no_telemetry: bool = False
    verbose: bool = False


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> ServeFlags:
    """Read the arguments.

    Raises:
        BadArgumentsError: they do not parse.
        UsageError, ConfigError: a combination that cannot be meant, or an address that is none.
    """
    typed = vars(_parser().parse_intermixed_args(argv))
    service = typed["service"]
    if typed["embedded_broker"] and service is not None:
        raise UsageError(
            "--embedded-broker is the supervisor's: leave the service out to have it started"
            " beside the broker",
            key="--embedded-broker",
        )
    if typed["api_key"] is not None and typed["api_key_file"] is not None:
        raise UsageError(
            "--api-key-file cannot be used beside --api-key; pass one of them", key="--api-key-file"
        )
    workers = typed["workers"]
    return ServeFlags(
        service=service or "",
        config=typed["config"] if typed["config"] is not None else DEFAULT_CONFIG,
        embedded_broker=bool(typed["embedded_broker"]),
        script=typed["script"],
        job_workers=number_of(workers, "--workers", least=1, default=1) if workers else None,
        state_dir=typed["state_dir"],
        root_dir=typed["root_dir"],
        work_dir=typed["work_dir"],
        api_key=typed["api_key"],
        api_key_file=typed["api_key_file"],
        base_url=check_base_url((typed["base_url"] or environ.get(BASE_URL, "")).strip()),
        no_telemetry=bool(typed["no_telemetry"]),
        verbose=bool(typed["verbose"]) or exported(environ, "VERBOSE"),
    )


def _parser() -> CommandParser:
    parser = CommandParser(
        "fisk-ai serve",
        "Serve the agent: everything its configuration enables, or one service in the foreground.",
    )
    parser.add_argument(
        "service", nargs="?", help=f"one of {', '.join(each.name for each in SERVICES)}"
    )
    parser.value("--config", "FILE", f"the agent's configuration (default {DEFAULT_CONFIG})")
    parser.switch("--embedded-broker", "start a private broker that keeps what it stores")
    parser.value("--script", "FILE", "rehearse: play this script in place of the model")
    parser.value("--workers", "N", "jobs at once, in place of the configuration's number")
    parser.value("--state-dir", "DIR", "keep sessions, and an embedded broker, in this directory")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    parser.value("--work-dir", "DIR", "run command tools in this directory; an absolute path")
    parser.value("--api-key", "KEY", f"the model's key ({KEY})")
    parser.value("--api-key-file", "FILE", f"a file that holds it ({KEY_FILE})")
    parser.value("--base-url", "URL", f"the model's address ({BASE_URL})")
    parser.switch("--no-telemetry", "export nothing, as this release never does (NO_TELEMETRY)")
    parser.switch("--verbose", "log at debug level (VERBOSE)")
    return parser
