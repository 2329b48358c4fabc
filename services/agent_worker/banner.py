"""What a worker says once it serves: what it is, and a section for each endpoint.

Facts alone, no credential and no path of a secret. A person reads lines, a program one record for
each section.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from agent_worker.endpoints.serving import Endpoints
from agent_worker.resources import Built
from fisk_ai.config import Config
from fisk_ai.serving.contract import Described
from fisk_ai.serving.log import BoundLogger
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.version import __version__

VALUE_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it; facts that are empty are left out."""

    heading: str
    facts: Mapping[str, object]


def head(
    config: Config, built: Built, endpoints: Endpoints, facts: Mapping[str, object]
) -> Section:
    """Return what concerns the whole worker; ``facts`` are further ones of the start."""
    known: dict[str, object] = {"Endpoints": endpoints.names}
    stores = built.stores
    if stores is not None:
        info = stores.sessions.info()
        known |= {
            "Model": config.llm.model,
            "Provider": config.llm.provider,
            "Sessions": f"{info.backend} ({info.location})" if info.location else info.backend,
            "Memory": stores.memory.info().backend if stores.memory is not None else "disabled",
            "Tool Timeout": _timeout(config.harness.tool_timeout_s),
        }
    if config.expose.agent.jobs is not None:
        known["Queue Workers"] = max(config.expose.agent.jobs.workers, 1)
    known |= {"Broker": built.storage.serving[0].place(), "Telemetry": "disabled", **facts}
    return Section(f"Serving {config.identity}/{__version__}", known)


def sections(endpoints: Endpoints) -> list[Section]:
    """Return what each endpoint says of itself."""
    return [
        Section(each.heading, each.describe())
        for each in (*endpoints.channels, *endpoints.services)
        if isinstance(each, Described)
    ]


def show(found: Sequence[Section], log: BoundLogger, *, as_text: bool) -> None:
    """Say all of it, as lines or as records."""
    for section in found:
        facts = {name: value for name, value in section.facts.items() if value not in ("", None)}
        if as_text:
            with suppress(OSError):  # as with every other line that nobody can read
                print(_lines(section.heading, facts), file=sys.stderr)  # noqa: T201 - for a person
            continue
        log.info(section.heading, **{_key(name): value for name, value in facts.items()})


def _lines(heading: str, facts: Mapping[str, object]) -> str:
    width = max(map(len, facts), default=0)
    lines = [f"  {name:>{width}}: {_shown(value)}" for name, value in facts.items()]
    return "\n".join([f"{heading}:", *lines])


def _shown(value: object) -> str:
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    return for_terminal(", ".join(map(str, listed)), VALUE_LIMIT)


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")


def _timeout(seconds: float) -> str:
    return go_duration(seconds) if seconds > 0 else "none"
