"""``fisk-ai serve``: every service that a configuration enables, or one of them in the foreground.

The order of refusals is fixed: flags, configuration, endpoints, services that are not built, the
broker of ours, then what only a service needs, which is its own to refuse. A service in the
foreground takes this process's place, so that signals and exit codes are its own. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from fisk_ai import secrecy
from fisk_ai.cli import serve_flags
from fisk_ai.cli.arguments import shown_word
from fisk_ai.cli.serve_flags import ServeFlags
from fisk_ai.cli.services import SERVICES, Service, enabled
from fisk_ai.cli.worker_child import parted
from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.llm.anthropic.base_url import BASE_URL
from fisk_ai.llm.credentials import KEY, KEY_FILE, api_key

if TYPE_CHECKING:
    from fisk_ai.bus.broker import Broker
    from fisk_ai.cli.log_lines import Voice
    from fisk_ai.cli.supervisor import Plan
    from fisk_ai.config import Config

URL_VARIABLE: Final = "FISK_AI_NATS_URL"
CREDS_VARIABLE: Final = "FISK_AI_NATS_CREDS"
FORMAT_VARIABLE: Final = "FISK_AI_LOG_FORMAT"
TIMEOUT_VARIABLE: Final = "FISK_AI_START_TIMEOUT"

START_TIMEOUT_S: Final = 60.0
"""How long a service waits for others while it starts, unless it is told."""

READY_MARGIN_S: Final = 10.0
"""What a service may take beyond that to say so itself."""

DRAINING: Final = (
    "draining: no new work is taken and running work stops where it can resume. Interrupt again to"
    " stop now"
)
CLOSING: Final = "draining: the endpoints stop answering. Interrupt again to stop now"


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai serve`` with its arguments and return the exit code.

    Raises:
        FiskError: a refusal before anything serves.
        KeyboardInterrupt: a signal ended the start.
    """
    flags = serve_flags.parse(argv, os.environ)
    if flags.service:
        _become(_service(flags.service), flags, os.environ)
    secrecy.shield()
    try:
        return asyncio.run(_supervise(flags, os.environ))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _service(word: str) -> Service:
    service = next((each for each in SERVICES if each.name == word), None)
    if service is None:
        shown = f' "{word}"' if shown_word(word.replace("-", "")) else ""
        names = ", ".join(each.name for each in SERVICES)
        raise UsageError(f"there is no service{shown}; name one of {names}", key="service")
    if not service.module:
        raise service.not_built()
    return service


def _become(service: Service, flags: ServeFlags, environ: Mapping[str, str]) -> NoReturn:
    """Go on as the service: same process, its signals and its exit code."""
    public, secrets = parted(_environ(flags, environ))
    handed = secrecy.hand_over(secrets)
    os.set_inheritable(handed.fileno(), True)  # noqa: FBT003 - the library's own shape
    words = [sys.executable, "-P", "-m", service.module, *_arguments(flags)]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [*words, "--secrets-fd", str(handed.fileno())], public)  # noqa: S606 - no shell is wanted


async def _supervise(flags: ServeFlags, environ: Mapping[str, str]) -> int:
    # imported here: a service in the foreground needs none of it
    from fisk_ai.cli.log_lines import Voice  # noqa: PLC0415
    from fisk_ai.cli.supervisor import Signals, Supervisor  # noqa: PLC0415

    config = _config(flags, environ)
    services = enabled(config)
    _say_what_is_in_vain(config, flags, environ)
    text = environ.get(FORMAT_VARIABLE, "") or ("text" if sys.stderr.isatty() else "json")
    voice = Voice(text=text.strip().lower() == "text")
    told = Signals(voice, DRAINING if config.takes_work else CLOSING)
    with told.installed():
        async with AsyncExitStack() as stack:
            broker = None
            if flags.embedded_broker:
                broker = await _embedded(stack, flags, config, environ, voice)
            supervisor = Supervisor(voice, broker)
            stack.push_async_callback(supervisor.close)
            for service in services:
                given = {FORMAT_VARIABLE: text, **environ}
                await supervisor.start(_plan(service, flags, config, given, broker))
            told.serving()
            voice.say(
                f"serving {config.identity}: {', '.join(each.name for each in services)}",
                identity=config.identity,
                services=[each.name for each in services],
            )
            return await supervisor.supervise(told)


def _config(flags: ServeFlags, environ: Mapping[str, str]) -> Config:
    from fisk_ai.config import Broker, Mode, load, require_endpoint  # noqa: PLC0415 - pydantic

    given = bool(environ.get(URL_VARIABLE, "").strip())
    broker = Broker.GIVEN if given else Broker.NAMED
    found = Broker.EMBEDDED if flags.embedded_broker else broker
    config = load(Path(flags.config), Mode.SERVE, broker=found)
    require_endpoint(config)
    return config


def _say_what_is_in_vain(config: Config, flags: ServeFlags, environ: Mapping[str, str]) -> None:
    from fisk_ai.cli.telemetry_note import telemetry_note  # noqa: PLC0415 - as the config
    from fisk_ai.config.standing import reserved_wishes  # noqa: PLC0415 - likewise

    for wish in reserved_wishes(config):
        print(f"warning: {wish}", file=sys.stderr)
    note = telemetry_note(config, environ, flag=flags.no_telemetry)
    if note:
        print(note, file=sys.stderr)


async def _embedded(
    stack: AsyncExitStack,
    flags: ServeFlags,
    config: Config,
    environ: Mapping[str, str],
    voice: Voice,
) -> Broker:
    from fisk_ai.cli.embedded_broker import directory_of, embedded  # noqa: PLC0415 - starts NATS

    directory = directory_of(flags.state_dir, environ)
    started = await stack.enter_async_context(embedded(config, directory, environ))
    where = f"broker at {started.broker.url}, its store and login in {directory}"
    if started.context:
        how = f'others on this machine reach it as the NATS context "{started.context}"'
    else:
        how = f"others on this machine reach it by a NATS context that links to {started.file}"
    if config.nats_context and started.context != config.nats_context:
        how += f'; the context "{config.nats_context}" of the configuration is another broker'
    voice.say(f"{where}; {how}", context=started.context, file=str(started.file))
    return started.broker


def _plan(
    service: Service,
    flags: ServeFlags,
    config: Config,
    environ: Mapping[str, str],
    broker: Broker | None,
) -> Plan:
    from fisk_ai.cli.supervisor import Plan  # noqa: PLC0415 - as above

    keeps_files = config.harness.sessions.backend == "file"
    arguments = _arguments(flags, with_state=keeps_files or not flags.embedded_broker)
    variables = _environ(flags, environ)
    if broker is not None:
        arguments.append("--embedded")
        variables[URL_VARIABLE] = broker.url_with_credentials
        variables.pop(CREDS_VARIABLE, None)
    return Plan(
        name=service.name,
        program=("-P", "-m", service.module),
        arguments=arguments,
        environ=variables,
        ready_timeout_s=_start_timeout(environ) + READY_MARGIN_S,
    )


def _arguments(flags: ServeFlags, *, with_state: bool = True) -> list[str]:
    """Return the arguments of a service; paths that begin here are told in full."""
    arguments = ["--config", flags.config]
    paths = (
        ("--script", flags.script),
        ("--state-dir", flags.state_dir if with_state else None),
        ("--root-dir", flags.root_dir),
    )
    for flag, path in paths:
        if path:
            arguments += [flag, str(Path(path).absolute())]
    if flags.work_dir is not None:
        arguments += ["--work-dir", flags.work_dir]
    if flags.job_workers is not None:
        arguments += ["--workers", str(flags.job_workers)]
    if flags.verbose:
        arguments.append("--verbose")
    return arguments


def _environ(flags: ServeFlags, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a service's variables, with what flags say of the model in place of theirs."""
    variables = dict(environ)
    if flags.api_key is not None or flags.api_key_file is not None:
        variables.pop(KEY_FILE, None)
        variables[KEY] = api_key(environ, key=flags.api_key, key_file=flags.api_key_file)
    if flags.base_url:
        variables[BASE_URL] = flags.base_url
    return variables


def _start_timeout(environ: Mapping[str, str]) -> float:
    """Return what the services were told; what is no duration is theirs to refuse."""
    from fisk_ai.config import parse_duration  # noqa: PLC0415 - as the config

    try:
        return parse_duration(environ.get(TIMEOUT_VARIABLE, "").strip())
    except (ValueError, ConfigError):
        return START_TIMEOUT_S
