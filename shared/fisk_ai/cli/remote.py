"""``fisk-ai run --nats-context``: a caller of an agent that others host, and nothing else.

No process is started, no key is needed and no session is read: all of that is the worker's. Whoever
leaves detaches, and the work goes on. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.a2a.subjects import IDENTITY_MAX
from fisk_ai.bus import contexts
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.cli.agent import Death
from fisk_ai.cli.conversation import Conversation, exit_code
from fisk_ai.cli.exchanges import SENDER
from fisk_ai.cli.handles import Handle, as_token
from fisk_ai.cli.quoting import command_line
from fisk_ai.cli.resume_command import WayThere
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.terminal import at_terminal, can_chat, dumping, no_prompt, prompt_line
from fisk_ai.config import Config, Mode, load
from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.sessions.state import RunState
from fisk_ai.text.ids import valid_token
from fisk_ai.text.sanitise import for_terminal

NAME_LIMIT = 400
"""Code points of a file's name in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """An agent that others host, and the connection to it."""

    identity: str
    context: str
    connection: Connection

    @property
    def elsewhere(self) -> bool:
        """Always: its sessions and its log are its worker's."""
        return True

    @property
    def silence(self) -> str:
        """What to say where nobody answers under its name."""
        probe = command_line(("fisk-ai", "discover", "--nats-context", self.context, self.identity))
        return (
            f'no agent answering as "{self.identity}" on NATS context "{self.context}": check the '
            f"identity and that it is running there, which '{probe}' probes directly"
        )

    async def died(self) -> Death:
        """Wait until the connection is of no use any more; a broker that is away is waited for.

        A worker that is lost is noticed by whoever reads its messages.
        """
        return Death("connection", why=str(await self.connection.fault()))

    def last_words(self) -> Sequence[str]:
        """Return nothing: its log is where it runs."""
        return ()


async def converse(flags: RunFlags, context: str, environ: Mapping[str, str]) -> int:
    """Talk to the agent that the flags name and return the exit code.

    Raises:
        FiskError: a refusal before anything was sent, or an ending that is a failure.
        KeyboardInterrupt: the operator left.
    """
    config = _config(flags)
    identity = _identity(flags, config)
    if flags.of_the_worker:
        raise UsageError(flags.of_the_worker[0], key="--nats-context")
    is_chat = can_chat(flags) and not (config is not None and config.harness.no_tui)
    handle = Handle()
    if flags.resume is not None:
        handle = Handle(token=as_token(flags.resume))
    elif not flags.prompt.strip() and not is_chat:
        raise no_prompt()
    options = contexts.load(context, environ).options(SENDER)
    with at_terminal() as (prompter, interrupts), ExitStack() as stack:
        debug = stack.enter_context(dumping()) if flags.a2a_debug else None
        try:
            connection = await connect(options)
            try:
                conversation = Conversation(
                    flags=flags,
                    handle=handle,
                    agent=Remote(identity=identity, context=context, connection=connection),
                    prompter=prompter,
                    interrupts=interrupts,
                    stored=_nowhere,
                    way_back=WayThere(context=context, identity=identity),
                    keys=prompt_line() if is_chat else None,
                    debug=debug,
                )
                end = await conversation.run()
            finally:
                await connection.drop()
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    return exit_code(end)


def _config(flags: RunFlags) -> Config | None:
    """Return the configuration; ``None`` where none is named and the flags say all of it."""
    if flags.identity is not None and flags.config is None:
        return None
    try:
        return load(Path(flags.config_path), Mode.LENIENT)
    except ConfigError as exc:
        if flags.config is None and isinstance(exc.__cause__, FileNotFoundError):
            hint = "pass --identity NAME to name the agent to talk to"
            raise ConfigError(f"{exc}: {hint}", key="--identity") from exc
        raise


def _identity(flags: RunFlags, config: Config | None) -> str:
    """Return whom to address.

    Raises:
        UsageError: nobody is named, or by what can be no identity.
    """
    name = flags.identity
    if name is None:
        if config is None or not config.named_identity:
            shown = for_terminal(flags.config_path, NAME_LIMIT)
            raise UsageError(
                "--nats-context needs an agent to address: pass --identity NAME, or set identity "
                f"in \"{shown}\"; one that is made from a file's name may be anybody's",
                key="--identity",
            )
        return config.identity
    if not valid_token(name) or len(name) > IDENTITY_MAX:
        raise UsageError(
            "--identity must be the name of an agent: letters, digits, _ and - alone, at most "
            f"{IDENTITY_MAX} characters",
            key="--identity",
        )
    return name


async def _nowhere(_: str) -> RunState | None:
    """Return no session: none of them is here."""
    return None
