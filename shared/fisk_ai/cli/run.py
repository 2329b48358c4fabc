"""``fisk-ai run``: host an agent behind a private broker and be its caller for one turn.

The order is fixed: flags, configuration, what to resume, credentials, then processes. What can be
refused from what is read here is refused before anything is started; what only a worker needs is
the worker's to refuse. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.cli import provider_check, run_flags
from fisk_ai.cli.handles import Handle
from fisk_ai.cli.hosting import HostPlan, host
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.wire_dump import FILE, Dump, open_dump
from fisk_ai.config import Config, Mode, load
from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.llm import provider as providers
from fisk_ai.llm.credentials import api_key
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.sessions.places import root_directory

if TYPE_CHECKING:
    from fisk_ai.sessions.state import RunState


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai run`` with its arguments and return the exit code.

    Raises:
        FiskError: a refusal before the start, or an ending that is a failure.
        KeyboardInterrupt: the operator left.
    """
    flags = run_flags.parse(argv, os.environ)
    config = load(Path(flags.config_path), Mode.AGENT)
    script = _script(flags)
    if script is not None:
        _warn_of_refusal(config)
        config = config.with_script(script)
    return asyncio.run(_run(flags, config, script, environ=os.environ))


async def _run(
    flags: RunFlags, config: Config, script: Path | None, *, environ: Mapping[str, str]
) -> int:
    handle = await _handle(flags, config, environ)
    plan = _plan(flags, config, script, environ=environ)
    prompter = TerminalPrompter(Keyboard(sys.stdin), sys.stderr)
    interrupts = Interrupts(abort_question=prompter.abort)
    with interrupts.installed(), ExitStack() as stack:
        debug = _open_dump(stack) if flags.a2a_debug else None
        try:
            async with host(plan, _import_client) as hosted:
                from fisk_ai.cli.conversation import Conversation, exit_code  # noqa: PLC0415 - there

                interrupts.forcing(hosted.worker.kill)
                conversation = Conversation(
                    flags=flags,
                    handle=handle,
                    hosted=hosted,
                    prompter=prompter,
                    interrupts=interrupts,
                    stored=partial(_stored, flags=flags, config=config, environ=environ),
                    debug=debug,
                )
                end = await conversation.run()
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    return exit_code(end)


async def _handle(flags: RunFlags, config: Config, environ: Mapping[str, str]) -> Handle:
    if flags.resume is None:
        return Handle()
    from fisk_ai.cli.resumption import find  # noqa: PLC0415 - a new run reads no session

    return await find(flags, config, environ)


async def _stored(
    session_id: str, *, flags: RunFlags, config: Config, environ: Mapping[str, str]
) -> RunState | None:
    from fisk_ai.cli.resumption import stored  # noqa: PLC0415 - only a run that failed asks

    return await stored(session_id, flags=flags, config=config, environ=environ)


def _import_client() -> None:
    """Import what talks to the agent, in the time in which the worker imports its own."""
    importlib.import_module("fisk_ai.cli.conversation")


def _open_dump(stack: ExitStack) -> Dump:
    dump, close = open_dump(Path.cwd())
    stack.callback(close)
    print(f"Dumping a2a messages to {FILE}", file=sys.stderr)
    return dump


def _plan(
    flags: RunFlags, config: Config, script: Path | None, *, environ: Mapping[str, str]
) -> HostPlan:
    key = _key(flags, config, environ)
    if flags.resume is None and not flags.prompt.strip():
        raise UsageError(
            "no prompt: give one as an argument, or --resume a conversation to continue",
            key="prompt",
        )
    return HostPlan(
        arguments=_worker_arguments(flags, script),
        environ=environ,
        api_key=key,
        base_url=flags.base_url,
        verbose=flags.verbose,
    )


def _script(flags: RunFlags) -> Path | None:
    """Return the script's absolute path; it is relative to the working directory.

    Raises:
        ConfigError: it cannot be read.
    """
    if flags.script is None:
        return None
    path = Path(flags.script).absolute()
    try:
        path.open("rb").close()
    except OSError as exc:
        raise ConfigError(
            f'--script "{flags.script}" cannot be read: {exc.strerror}', key="--script"
        ) from exc
    return path


def _warn_of_refusal(config: Config) -> None:
    """Say what a rehearsal does not find out: that the model as configured cannot be used."""
    refused = provider_check.refusal(config)
    if refused:
        print(f"warning: a run without --script would be refused: {refused}", file=sys.stderr)


def _key(flags: RunFlags, config: Config, environ: Mapping[str, str]) -> str:
    """Return the model's key; a provider that declares no credentials asks for none."""
    providers.require_known(config.llm.provider)
    if not providers.declares_credentials(config.llm.provider):
        return ""
    key = api_key(environ, key=flags.api_key, key_file=flags.api_key_file)
    if not key:
        raise UsageError(
            "--api-key is required to run an agent; set it, export ANTHROPIC_API_KEY, or rehearse "
            "with --script FILE, which needs none",
            key="--api-key",
        )
    return key


def _worker_arguments(flags: RunFlags, script: Path | None) -> list[str]:
    arguments = ["--config", flags.config_path, "--hosted"]
    if not Keyboard(sys.stdin).is_terminal():
        arguments.append("--no-operator")
    if script is not None:
        arguments += ["--script", str(script)]
    if flags.state_dir:
        arguments += ["--state-dir", str(Path(flags.state_dir).absolute())]
    base = root_directory(flags.root_dir)
    if base is not None:
        arguments += ["--root-dir", str(base)]
    if flags.verbose:
        arguments.append("--verbose")
    return arguments
