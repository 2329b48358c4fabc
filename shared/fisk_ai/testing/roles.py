"""A fleet whose broker runs what ``fisk-ai provision --permissions`` printed, and its users."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.testing.workshop import Typed, Workshop, typing_in


@dataclass(frozen=True, slots=True)
class Printed:
    """What was printed, as a person would put it to use."""

    text: str

    @property
    def passwords(self) -> dict[str, str]:
        """The variables of the server that it names, each with a password."""
        return {name: f"p{name}" for name in re.findall(r"password: \$(\w+)", self.text)}

    @property
    def users(self) -> dict[str, str]:
        """Each user with its password."""
        named = re.findall(r'user: "([^"]+)", password: \$(\w+)', self.text)
        return {user: self.passwords[name] for user, name in named}

    def variables(self, role: str) -> dict[str, str]:
        """The variables that it says the process of a role is given."""
        return dict(re.findall(rf"^# {role}: (\w+)=(\S+)$", self.text, re.MULTILINE))

    def inbox(self, role: str) -> str:
        """The inbox prefix that it says a role has."""
        of_context = re.search(rf'^# {role}: "inbox_prefix": "([^"]+)"', self.text, re.MULTILINE)
        if of_context is not None:
            return of_context[1]
        return self.variables(role)["FISK_AI_NATS_INBOX_PREFIX"]

    def context(self, role: str, url: str) -> dict[str, str]:
        """Return the NATS context of a role."""
        return {
            "url": url,
            "user": role,
            "password": self.users[role],
            "inbox_prefix": self.inbox(role),
        }

    def runnable(self, store: Path) -> str:
        """Return it with a port and a directory of this test's own, and nothing else changed."""
        text = self.text.replace('"127.0.0.1:4222"', '"127.0.0.1:-1"')
        return text.replace('"/var/lib/nats"', json.dumps(str(store)))


@dataclass(frozen=True, slots=True)
class RoleFleet:
    """A workshop whose workers and commands are users of the printed broker."""

    shop: Workshop
    printed: Printed
    url: str

    @asynccontextmanager
    async def connected(self, role: str) -> AsyncGenerator[Connection, None]:
        """Connect as ``role`` for the length of the block."""
        options = ConnectOptions(
            self.url,
            role,
            user=role,
            password=self.printed.users[role],
            inbox_prefix=self.printed.inbox(role),
        )
        connection = await connect(options)
        try:
            yield connection
        finally:
            await connection.drain()

    def home_of(self, **contexts: str) -> Path:
        """Make a home whose NATS contexts are those of roles, and return it."""
        home = self.shop.directory / "-".join(("home", *contexts.values()))
        folder = home / ".config" / "nats" / "context"
        folder.mkdir(parents=True, exist_ok=True)
        for name, role in contexts.items():
            written = json.dumps(self.printed.context(role, self.url))
            (folder / f"{name}.json").write_text(written)
        return home

    async def start(self) -> None:
        """Start a worker as the printed lines say."""
        home = self.home_of(fleet="worker", store="worker-store")
        environ = {"FISK_AI_NATS_URL": "", "HOME": str(home), **self.printed.variables("worker")}
        await self.shop.start("--no-operator", environ=environ)

    async def operate(self, *words: str) -> Typed:
        """Type a command as an operator."""
        home = self.home_of(fleet="operator", store="operator")
        types = typing_in(self.shop.directory)
        return await types(*words, HOME=str(home), **self.printed.variables("operator"))
