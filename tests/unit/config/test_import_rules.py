from __future__ import annotations

from collections.abc import Callable

import pytest

from fisk_ai.config import Config, Mode
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("[{}]", "remote_tools host is missing a name"),
        ("[{name: a.b}]", 'host name "a.b" is invalid: it must contain only letters'),
        (f"[{{name: {'a' * 129}}}]", "at most 128"),
        ("[{name: a.b}]", "(it keys the NATS subjects)"),
        ("[{name: a, alias: 'b c'}]", 'host "a" has an invalid alias "b c"'),
        ("[{name: a, alias: 'b c'}]", "(it prefixes imported tool names)"),
        ("[{name: a, exclude: {tags: [x]}}]", 'host "a" has an exclude.tags filter, which cannot'),
    ],
)
def test_a_peer_that_could_not_be_honoured_is_refused(
    refusal: Refusal, hosts: str, said: str, mode: Mode
) -> None:
    error = refusal(f"llm: {{model: m}}\nsystem_prompt: s\nremote_tools: {hosts}", mode)
    assert said in str(error)
    assert error.key == "remote_tools"


CLIENTS = [
    ("[{}]", "mcp_clients server is missing a name"),
    ("[{name: 'a b'}]", 'mcp_clients server name "a b" is invalid'),
    ("[{name: a, alias: x.y}]", 'mcp_clients server "a" has an invalid alias "x.y"'),
    (
        "[{name: a, command: x}, {name: a, command: y}]",
        'mcp_clients has more than one server named "a": give each entry its own name',
    ),
    (
        "[{name: a, command: x}, {name: b, alias: a, command: y}]",
        'mcp_clients servers "a" and "b" both use the alias "a"',
    ),
    ("[{name: a}]", 'server "a" has neither a command nor a url'),
    ("[{name: a, command: x, url: 'http://h'}]", 'server "a" has both a command and a url'),
    ("[{name: a, url: 'http://h', env: {A: b}}]", 'server "a" has env beside url'),
    ("[{name: a, url: 'http://h', args: [x]}]", 'server "a" has args beside url'),
    ("[{name: a, command: x, headers: {A: b}}]", 'server "a" has headers beside command'),
    ("[{name: a, command: x, include: {tags: [y]}}]", "has an include.tags filter"),
    ("[{name: a, command: x, exclude: {tags: [y]}}]", "has an exclude.tags filter"),
    (
        "[{name: a, command: x, env: {Z: '${', B: '${}'}}]",
        'server "a" has an invalid env value for "B": ${} names nothing',
    ),
    (
        "[{name: a, url: 'http://h', headers: {Z: '${', B: '${1}'}}]",
        'server "a" has an invalid headers value for "B": "1" is no name',
    ),
    ("[{name: a, url: '${'}]", 'server "a" has an invalid url a ${ is not closed'),
    ("[{name: a, url: 'ws://h'}]", 'server "a" has an invalid url "ws://h": a url is the http://'),
    ("[{name: a, url: 'http:///x'}]", "it names no host, so there is nothing to connect to"),
    ("[{name: a, url: 'http://h:x'}]", "it cannot be read"),
    ("[{name: a, timeout: 0s, command: x}]", 'timeout "0s" on server "a": must be greater than'),
    ("[{name: a, timeout: -1s, command: x}]", 'timeout "-1s" on server "a": must be greater than'),
    ("[{name: a, timeout: x, command: x}]", 'invalid mcp_clients timeout "x" on server "a": '),
]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(("clients", "said"), CLIENTS)
def test_a_server_that_could_not_be_reached_is_refused(
    refusal: Refusal, clients: str, said: str, mode: Mode
) -> None:
    error = refusal(f"llm: {{model: m}}\nsystem_prompt: s\nmcp_clients: {clients}", mode)
    assert said in str(error)
    assert error.key == "mcp_clients"


def test_a_refused_address_is_shown_without_its_secrets(refusal: Refusal) -> None:
    said = str(refusal("mcp_clients: [{name: a, url: 'ftp://user:hunter2@h/?key=hunter2'}]"))
    assert "hunter2" not in said
    assert '"ftp://REDACTED@h/?key=REDACTED"' in said


@pytest.mark.parametrize(
    "clients",
    [
        "[{name: a, command: x, args: ['${not a reference'], env: {A: 'x${B}${file:/c}'}}]",
        "[{name: a, url: 'https://h/mcp', headers: {Authorization: 'Bearer ${T}'}}]",
        "[{name: a, url: '${SCHEME}://${HOST}', include: {tools: [x]}, exclude: {tools: [y]}}]",
        "[{name: a, command: x}, {name: b, alias: c, command: x}]",
        "[{name: a, command: x, timeout: 1m}]",
    ],
)
def test_a_server_that_can_be_reached_is_described(read: Read, clients: str) -> None:
    assert read(f"mcp_clients: {clients}").mcp_clients[0].name == "a"


def test_a_server_has_half_a_minute_unless_the_file_says_otherwise(read: Read) -> None:
    config = read("mcp_clients: [{name: a, command: x}, {name: b, command: x, timeout: 5s}]")
    assert [client.timeout_s for client in config.mcp_clients] == [30.0, 5.0]


def test_tags_of_a_peer_may_be_asked_for_since_too_much_is_seen(read: Read) -> None:
    assert read("remote_tools: [{name: a, include: {tags: [x]}}]").remote_tools[0].name == "a"
