"""How a conversation is found again: the commands a person is told to type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fisk_ai.cli.quoting import command_line
from fisk_ai.cli.run_flags import RunFlags


class Way(Protocol):
    """The commands that go on with a conversation."""

    def resume(self, handle: str, /) -> str:
        """Return the command that continues what ``handle`` names."""
        ...

    @property
    def needs(self) -> str:
        """What is no part of the command and has to be there all the same; empty for nothing."""
        ...

    def answer(self, session_id: str, /) -> str:
        """Return the command that answers what a session waits for, but for the answer itself."""
        ...

    def transcript(self, session_id: str, /) -> str:
        """Return the command that shows a whole conversation; empty where nobody here can."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WayThere:
    """The commands that go on with a conversation of an agent elsewhere.

    Whoever resumes needs the conversation's token, which is a secret of its caller: it is shown to
    nobody else.
    """

    context: str
    identity: str

    @property
    def _there(self) -> tuple[str, ...]:
        return ("--nats-context", self.context, "--identity", self.identity)

    def resume(self, token: str) -> str:
        """Return the command that continues the conversation of ``token``."""
        return command_line(("fisk-ai", "run", *self._there, "--resume", token))

    @property
    def needs(self) -> str:
        """Nothing."""
        return ""

    def answer(self, session_id: str) -> str:
        """Return the command of an operator there."""
        return command_line(("fisk-ai", "session", "answer", session_id, *self._there))

    def transcript(self, _session_id: str) -> str:
        """Nothing: its sessions are kept where it is."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """The commands that go on with a conversation of one run, from any directory.

    ``rooted`` says that the agent has a root directory. Without one its commands run where we are,
    and its relative directories start there: the memory, the sessions, the folder to read from. So
    whoever goes on has to be there, too.
    """

    flags: RunFlags
    rooted: bool

    def resume(self, session_id: str) -> str:
        """Return the command that continues a session, with what finds it again.

        A typed address of the model is a part of it, or the conversation would go to another. A
        typed key is never shown.
        """
        address = ("--base-url", self.flags.base_url) if self.flags.types_base_url else ()
        return command_line(
            ("fisk-ai", "run", "--resume", session_id, *address),
            ("--config", self.flags.config_path),
            ("--api-key-file", self.flags.api_key_file),
            ("--script", self.flags.script),
            ("--worker", self.flags.worker),
            ("--state-dir", self.flags.state_dir),
            ("--root-dir", self.flags.root_dir),
            here=not self.rooted,
        )

    @property
    def needs(self) -> str:
        """What is no part of the command and has to be there all the same; empty for nothing.

        A script is given no key.
        """
        wants_key = self.flags.api_key and self.flags.script is None
        return "with the key that was typed: set it again" if wants_key else ""

    def answer(self, session_id: str) -> str:
        """Return the command that answers what a session waits for, but for the answer itself."""
        return self._session("answer", session_id)

    def transcript(self, session_id: str) -> str:
        """Return the command that shows a whole conversation."""
        return self._session("show", session_id, "--transcript")

    def _session(self, *words: str) -> str:
        return command_line(
            ("fisk-ai", "session", *words),
            ("--config", self.flags.config_path),
            ("--state-dir", self.flags.state_dir),
            ("--root-dir", self.flags.root_dir),
            here=not self.rooted,
        )
