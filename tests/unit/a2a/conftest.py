from __future__ import annotations

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.testing.wire import RecordedWire


@pytest.fixture
def wire() -> RecordedWire:
    return RecordedWire()


@pytest.fixture
def request_prompt() -> m.RequestPrompt:
    return m.RequestPrompt(**m.request_header(m.Sender(name="caller"), "agent"), prompt="Hi")
