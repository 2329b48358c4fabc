"""``fisk-ai run``: host an agent behind a private broker and be its caller.

At a terminal it is a chat, anywhere else one turn. The order of refusals is fixed: flags,
configuration, what to resume, credentials, then what only a worker needs, which is the worker's to
refuse. Reading the configuration takes longer than starting processes, so a new run reads it while
its worker does the same: a refusal ends both before they serve. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.cli import run_flags
from fisk_ai.cli.handles import Handle
from fisk_ai.cli.hosting import HostPlan, host
from fisk_ai.cli.resume_command import WayBack
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.terminal import at_terminal, can_chat, dumping, no_prompt, prompt_line
from fisk_ai.cli.worker_child import AGENT_WORKER
from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.llm import provider as providers
from fisk_ai.llm.anthropic.base_url import sends_key_in_clear
from fisk_ai.llm.credentials import api_key
from fisk_ai.regular import read_named
from fisk_ai.render.questions import person_present
from fisk_ai.sessions.places import root_directory
from fisk_ai.text.sanitise import for_terminal

if TYPE_CHECKING:
    from fisk_ai.config import Config
    from fisk_ai.sessions.state import RunState

HTTP_DEBUG_FILE = "http-debug.log"
"""Fixed name in the working directory, so that everybody knows what to delete afterwards."""

_HTTP_DEBUG_NOTICE = (
    f"Dumping Anthropic API request and response bodies to {HTTP_DEBUG_FILE} (contains the full "
    "conversation; delete it when you are done)"
)

NAME_LIMIT = 400
"""Code points of a file's name in a sentence."""


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai run`` with its arguments and return the exit code.

    Raises:
        FiskError: a refusal before the start, or an ending that is a failure.
        KeyboardInterrupt: the operator left.
    """
    return asyncio.run(_run(run_flags.parse(argv, os.environ), environ=os.environ))


async def _run(flags: RunFlags, *, environ: Mapping[str, str]) -> int:
    if flags.nats_context is not None:
        from fisk_ai.cli.remote import converse  # noqa: PLC0415 - a hosted run needs none of it

        return await converse(flags, flags.nats_context, environ)
    setup = _Setup(flags, _readable("--script", flags.script), environ)
    handle = Handle()
    if flags.resume is not None:
        handle = await _find(setup)
    elif not flags.prompt.strip() and not setup.is_chat:
        raise no_prompt()
    with at_terminal() as (prompter, interrupts), ExitStack() as stack:
        plan = setup.plan()
        debug = stack.enter_context(dumping()) if flags.a2a_debug else None
        if flags.http_debug:
            print(_HTTP_DEBUG_NOTICE, file=sys.stderr)
        try:
            async with host(plan, setup.check) as hosted:
                from fisk_ai.cli.conversation import Conversation, exit_code  # noqa: PLC0415 - there

                interrupts.forcing(hosted.worker.kill)
                conversation = Conversation(
                    flags=flags,
                    handle=handle,
                    agent=hosted,
                    prompter=prompter,
                    interrupts=interrupts,
                    stored=partial(_stored, setup),
                    way_back=WayBack(flags=flags, rooted=setup.is_rooted),
                    keys=prompt_line() if setup.is_chat else None,
                    debug=debug,
                )
                end = await conversation.run()
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    return exit_code(end)


@dataclass(frozen=True)
class _Setup:
    """What a run is set up from; the configuration is read when it is first asked for."""

    flags: RunFlags
    script: Path | None
    environ: Mapping[str, str]

    @cached_property
    def config(self) -> Config:
        """The configuration in force; a rehearsal is told what the real run would be refused."""
        # imported where they are used: while the worker starts
        from fisk_ai.cli import provider_check  # noqa: PLC0415
        from fisk_ai.config import Mode, load  # noqa: PLC0415

        config = load(Path(self.flags.config_path), Mode.AGENT)
        if self.script is None:
            return config
        refused = provider_check.refusal(config)
        if refused:
            print(f"warning: a run without --script would be refused: {refused}", file=sys.stderr)
        return config.with_script(self.script)

    @cached_property
    def is_chat(self) -> bool:
        """Whether a person may go on after a turn; the configuration is read only if it matters."""
        return can_chat(self.flags) and not self.config.harness.no_tui

    @property
    def is_rooted(self) -> bool:
        """Whether commands and relative directories start in a root directory, and not here."""
        return bool(self.flags.root_dir or self.config.root_directory)

    @cached_property
    def key(self) -> str:
        """The model's key; a rehearsal gets none."""
        if self.script is not None:
            return ""
        return api_key(self.environ, key=self.flags.api_key, key_file=self.flags.api_key_file)

    def plan(self) -> HostPlan:
        """Return what to start.

        Raises:
            ConfigError: the program to start, or the base of relative paths, cannot be used.
        """
        worker = _readable("--worker", self.flags.worker)
        return HostPlan(
            program=AGENT_WORKER if worker is None else (str(worker),),
            arguments=_worker_arguments(self.flags, self.script),
            environ=self.environ,
            api_key=self.key,
            base_url=self.flags.base_url,
            verbose=self.flags.verbose,
        )

    def check(self) -> None:
        """Refuse what cannot run, and import what talks to the agent, while the worker starts."""
        provider = self.config.llm.provider
        with self.config.placing():
            providers.require_known(provider)
        if providers.declares_credentials(provider) and not self.key:
            raise UsageError(
                "--api-key is required to run an agent; set it, export ANTHROPIC_API_KEY, or "
                "rehearse with --script FILE, which needs none",
                key="--api-key",
            )
        self._say_what_is_in_vain(sends_key=providers.declares_credentials(provider))
        importlib.import_module("fisk_ai.cli.conversation")

    def _say_what_is_in_vain(self, *, sends_key: bool) -> None:
        from fisk_ai.cli.telemetry_note import telemetry_note  # noqa: PLC0415 - as the config
        from fisk_ai.config.standing import reserved_wishes  # noqa: PLC0415 - likewise

        for wish in reserved_wishes(self.config):
            print(f"warning: {wish}", file=sys.stderr)
        note = telemetry_note(self.config, self.environ, flag=self.flags.no_telemetry)
        if note:
            print(note, file=sys.stderr)
        if sends_key and sends_key_in_clear(self.flags.base_url):
            print(
                "warning: the key travels unencrypted to the address in "
                "--base-url / ANTHROPIC_BASE_URL; use https",
                file=sys.stderr,
            )


async def _find(setup: _Setup) -> Handle:
    from fisk_ai.cli.resumption import find  # noqa: PLC0415 - a new run reads no session

    return await find(setup.flags, setup.config, setup.environ, chat=setup.is_chat)


async def _stored(setup: _Setup, session_id: str) -> RunState | None:
    from fisk_ai.cli.resumption import stored  # noqa: PLC0415 - few runs ask

    return await stored(session_id, flags=setup.flags, config=setup.config, environ=setup.environ)


def _readable(flag: str, name: str | None) -> Path | None:
    """Return the absolute path of a file that is named relative to the working directory.

    Raises:
        ConfigError: it cannot be read, or is no regular file.
    """
    if name is None:
        return None
    path = Path(name).absolute()
    shown = f'{flag} "{for_terminal(name, NAME_LIMIT)}"'
    refusal = ConfigError(f"{shown} is no regular file; save what it holds to one", key=flag)
    try:
        read_named(path, 0, refusal=refusal)
    except OSError as exc:
        raise ConfigError(f"{shown} cannot be read: {exc.strerror}", key=flag) from exc
    return path


def _worker_arguments(flags: RunFlags, script: Path | None) -> list[str]:
    arguments = ["--config", flags.config_path, "--hosted"]
    if not person_present(sys.stdin, sys.stderr):
        arguments.append("--no-operator")
    debug = str(Path.cwd() / HTTP_DEBUG_FILE) if flags.http_debug else None
    paths = (
        ("--script", script),
        ("--state-dir", flags.state_dir),
        ("--root-dir", root_directory(flags.root_dir)),
        ("--trace", flags.trace),
        ("--http-debug", debug),
    )
    for flag, path in paths:
        if path:
            arguments += [flag, str(Path(path).absolute())]
    if flags.verbose:
        arguments.append("--verbose")
    if flags.take_over:
        arguments.append("--take-over")
    return arguments
