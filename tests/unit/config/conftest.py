"""A configuration from a few lines, as if they stood in ``agent.yaml``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.config import Config, Mode, loads
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


@pytest.fixture
def read() -> Read:
    def _read(text: str, mode: Mode = Mode.LENIENT) -> Config:
        return loads(text, mode, source=Path("agent.yaml"))

    return _read


@pytest.fixture
def refusal(read: Read) -> Refusal:
    def _refusal(text: str, mode: Mode = Mode.LENIENT) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            read(text, mode)
        return caught.value

    return _refusal
