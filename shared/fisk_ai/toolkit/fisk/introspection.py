"""Asking an application to describe itself, within bounds, and saying exactly why it failed.

The document is read whole or not at all: half of it would be another set of tools. The checks
stand in a fixed order, so that a program that was killed or failed is never reported as bad JSON.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.text.duration import go_duration
from fisk_ai.text.trim import last_bytes
from fisk_ai.toolkit.environment import child_environment, without_configured
from fisk_ai.toolkit.fisk import undescribed
from fisk_ai.toolkit.fisk.asking import Asked
from fisk_ai.toolkit.fisk.document import Application, decode
from fisk_ai.toolkit.fisk.program import resolve_application
from fisk_ai.toolkit.fisk.starting import Exit
from fisk_ai.toolkit.selection import select

if TYPE_CHECKING:
    from fisk_ai.config import Config  # loads pydantic, which running commands does not need

TIMEOUT_S = 30.0
"""How long a program may take to describe itself; it does no work for that."""

SIZE_LIMIT_BYTES = 16_777_216
"""Far beyond any real tree of commands; a program that prints more prints something else."""


class _Capped:
    """Keeps output up to the limit and counts the rest, so that the program never blocks.

    The end is kept besides, whatever lies before it: there a program says why it failed.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self.tail = b""
        self.total = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data[: SIZE_LIMIT_BYTES - len(self._kept)]
        self.tail = last_bytes(self.tail + data, undescribed.TAIL_BYTES)

    def bytes(self) -> bytes:
        return bytes(self._kept)


class Introspection:
    """A program that describes itself from now on, while whoever asked it does something else."""

    def __init__(
        self,
        program: Path,
        *,
        environ: Mapping[str, str],
        directory: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Run ``program`` with the flag that makes it describe itself.

        ``directory`` is where it runs; ``None`` stands for the working directory of this process.

        Raises:
            SetupError: it cannot be started.
        """
        self.program = program
        self._timeout_s = timeout_s
        inherited = child_environment(environ, work_dir=None, call_ref="")
        try:
            self._asked = Asked(
                [str(program), undescribed.FLAG], environ=inherited, directory=directory
            )
        except ToolError as exc:
            raise SetupError(f"application_path: {exc}", key="application_path") from exc

    def close(self) -> None:
        """End the program, also while another thread waits for it."""
        self._asked.close()

    def document(self) -> Application:
        """Wait for what the program prints and return what it says of itself.

        Raises:
            SetupError: it did not answer in time, failed, printed too much or no such document.
        """
        output = _Capped()
        ended = self._end(output)
        if not ended.drained:
            raise self._failed("it ended while another process kept its output open")
        if ended.code != 0:
            raise self._failed(undescribed.unsuccessful(self.program, ended.code, output.tail))
        if output.total > SIZE_LIMIT_BYTES:
            raise self._failed(f"its document is over the limit of {SIZE_LIMIT_BYTES} bytes")
        raw = output.bytes()
        if not raw.strip():
            raise self._failed(undescribed.SILENT)
        try:
            return decode(raw)
        except ValueError as exc:
            why = undescribed.undecoded(raw, output.tail, str(exc))
            raise self._failed(f"decoding the introspection document failed: {why}") from exc

    def _end(self, output: _Capped) -> Exit:
        try:
            return self._asked.read(output.write, timeout_s=self._timeout_s)
        except TimeoutError as exc:
            window = go_duration(self._timeout_s)
            raise self._failed(
                f"it timed out; the program has to answer {undescribed.FLAG} within {window}"
                f"{undescribed.quoted(undescribed.end(output.tail))}"
            ) from exc

    def _failed(self, why: str) -> SetupError:
        return SetupError(f"introspecting {self.program} failed: {why}", key="application_path")


@contextmanager
def begun(
    config: Config, *, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> Generator[Introspection | None]:
    """Let the configured application describe itself inside; ``None`` where there is none.

    Raises:
        SetupError: the program cannot be found or started.
        ConfigError: a filter that cannot be meant, which is told before anything runs.
    """
    select(config)
    program = resolve_application(config, environ)
    if program is None:
        yield None
        return
    introspection = Introspection(
        program,
        environ=without_configured(environ, config),
        directory=config.base,
        timeout_s=timeout_s,
    )
    with closing(introspection):
        yield introspection
