"""Which texts are addresses of brokers, and that no refusal tells a part of a password."""

from __future__ import annotations

import string
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.bus.connection import ConnectOptions
from fisk_ai.errors import SetupError

REFUSED = [
    "nats://user:hunt/er2@127.0.0.1:1",
    "nats://user:hunt?er2@127.0.0.1:1",
    "nats://user:hunt#er2@127.0.0.1:1",
    "nats://user:hunt[er2@127.0.0.1:1",
    "nats://user:hunt]er2@127.0.0.1:1",
    "nats://user:hunt\u2100er2@127.0.0.1:1",
    "nats://user:hunt\ner2@127.0.0.1:1",
    "nats://user:hunt,er2@127.0.0.1:1",
    "nats://user:1,hunter2@127.0.0.1:1",
    "user:1,hunter2@127.0.0.1:1",
    "user:hunt/er2@127.0.0.1",
    "ws://user:hunter2@127.0.0.1:1",
    "nats:/user:hunter2@127.0.0.1:1",
    "nats://user:hunter2@127.0.0.1:0",
    "nats://user:hunter2@127.0.0.1:65536",
    "nats://user:hunter2@127.0.0.1:port",
    "nats://user:hunter2@",
    "nats://h:1/hunter2",
]


@pytest.mark.parametrize("url", REFUSED)
@pytest.mark.parametrize("context", ["", "prod"])
def test_what_is_no_address_is_refused_without_any_part_of_it(url: str, context: str) -> None:
    options = ConnectOptions(url, "test", context=context)

    with pytest.raises(SetupError) as caught:
        options.servers()

    told = "".join(traceback.format_exception(caught.value)) + options.place()
    lines = [line for line in told.splitlines() if "servers()" not in line]
    assert not any(part in line for line in lines for part in ("hunt", "er2", "user:1"))
    start = 'connecting to NATS context "prod": ' if context else "FISK_AI_NATS_URL"
    assert start in str(caught.value)
    assert "nats://host:port" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "servers", "shown"),
    [
        ("127.0.0.1", ["nats://127.0.0.1"], "127.0.0.1"),
        ("NATS://h.example:4222/", ["nats://h.example:4222"], "nats://h.example:4222"),
        ("tls://u:p@[::1]:7", ["tls://u:p@[::1]:7"], "tls://[::1]:7"),
        ("nats://u:p@ss@h", ["nats://u:p@ss@h"], "nats://h"),
        ("token@h", ["nats://token@h"], "h"),
        ("a:1, nats://t@b:2,,", ["nats://a:1", "nats://t@b:2"], "a:1,nats://b:2"),
    ],
)
def test_an_address_is_shown_by_its_host_and_port(url: str, servers: list[str], shown: str) -> None:
    options = ConnectOptions(url, "test")
    assert options.servers() == servers
    assert options.shown() == shown


@given(st.text(string.punctuation + "XYZ\u2100 ", min_size=4, max_size=12))
def test_no_password_leaves_a_trace(password: str) -> None:
    options = ConnectOptions(f"nats://robot:QQ{password}QQ@h.example:4222", "test")
    try:
        options.servers()
        told = options.place()
        assert told == "NATS at nats://h.example:4222"
    except SetupError as exc:
        told = f"{exc} {options.place()}"
    assert "Q" not in told
    assert "robot" not in told


def test_no_address_at_all_is_told_with_the_setting() -> None:
    with pytest.raises(SetupError, match="FISK_AI_NATS_URL"):
        ConnectOptions(" , ", "test").servers()
