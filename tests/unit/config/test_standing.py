from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import reduce
from operator import attrgetter
from pathlib import Path

import pytest

from fisk_ai.config import Config, Mode
from fisk_ai.config.schema import known_keys
from fisk_ai.config.standing import (
    CONSUMED,
    HOLDS,
    LATER,
    RESERVED,
    UNBUILT,
    reserved_wishes,
    unbuilt_wishes,
)
from fisk_ai.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]

UNBUILT_KEYS = tuple(entry.key for entry in UNBUILT)
SETTLED = {*CONSUMED, *HOLDS, *LATER, *RESERVED, *UNBUILT_KEYS}


def covers(entry: str, key: str) -> bool:
    return key == entry or key.startswith(f"{entry}.")


@pytest.mark.parametrize("key", sorted(known_keys()))
def test_every_known_key_works_or_is_refused_or_is_reserved(key: str) -> None:
    assert len([entry for entry in SETTLED if covers(entry, key)]) == 1


@pytest.mark.parametrize("entry", sorted(SETTLED))
def test_the_table_names_no_key_that_does_not_exist(entry: str) -> None:
    assert any(covers(entry, key) for key in known_keys())


@pytest.mark.parametrize("accessor", CONSUMED.values())
def test_the_accessor_of_a_working_key_exists(read: Read, accessor: str) -> None:
    config = read("expose: {agent: {a2a: {prompts: {}}, jobs: {}, slack: {}}}")
    assert not callable(reduce(getattr, accessor.split("."), config))


def product_modules() -> Iterator[Path]:
    for folder in ("shared/fisk_ai", "services"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).parts[:3] not in (
                ("shared", "fisk_ai", "config"),
                ("shared", "fisk_ai", "testing"),
            ):
                yield path


def aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names a module gives a block: by assignment, and by an argument's type."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            yield from ((t.id, node.value.attr) for t in node.targets if isinstance(t, ast.Name))
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
            yield node.arg, node.annotation.id.lower()


def reads(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield every attribute a module reads, with the name of what it reads it from."""
    also = dict(aliases(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if isinstance(node.value, ast.Attribute):
            yield node.value.attr, node.attr
        if isinstance(node.value, ast.Name):
            yield node.value.id, node.attr
            yield also.get(node.value.id, ""), node.attr


@pytest.mark.parametrize(
    ("source", "pair"),
    [
        ("x = config.llm.model", ("llm", "model")),
        ("limits = config.llm.budget\nx = limits.max_tokens", ("budget", "max_tokens")),
        ("def f(limits: Budget): return limits.max_tokens", ("budget", "max_tokens")),
    ],
)
def test_the_search_for_readers_sees_a_read(source: str, pair: tuple[str, str]) -> None:
    assert pair in set(reads(ast.parse(source)))


def test_the_search_for_readers_takes_nobody_elses_attribute_for_a_read() -> None:
    source = "llm = 1\nx = other.model\nconfig.llm"
    assert ("llm", "model") not in set(reads(ast.parse(source)))


@pytest.fixture(scope="module")
def read_pairs() -> set[tuple[str, str]]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in product_modules())
    return {pair for tree in trees for pair in reads(tree)}


@pytest.mark.parametrize("accessor", CONSUMED.values())
def test_a_working_key_is_read_outside_the_configuration(
    read_pairs: set[tuple[str, str]], accessor: str
) -> None:
    owner, _, name = f"config.{accessor}".rpartition(".")
    assert (owner.rpartition(".")[2], name) in read_pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mcp_clients: [{name: a, url: 'http://h'}]",
            "mcp_clients is not built yet: remove its entries",
        ),
        *[
            (
                f"expose: {{agent: {{{name}: {{}}}}}}",
                f"expose.agent.{name} is not built yet: remove the block",
            )
            for name in ("mcp",)
        ],
        (
            "expose: {agent: {web: {origins: ['https://a.example']}}}",
            "expose.agent.web is not built yet: remove the block",
        ),
        (
            "harness: {knowledge: {enabled: true}}",
            "harness.knowledge is not built yet: remove the block or set enabled: false",
        ),
        (
            "telemetry: {enabled: true}",
            "telemetry is not built yet: remove the block or set enabled: false",
        ),
    ],
)
@pytest.mark.parametrize("mode", [Mode.AGENT, Mode.SERVE])
def test_a_wish_that_is_not_built_is_refused_by_whatever_runs_the_agent(
    refusal: Refusal, text: str, message: str, mode: Mode
) -> None:
    error = refusal(f"identity: x\nsystem_prompt: s\nllm: {{model: m}}\n{text}", mode)
    assert re.sub(r"^checking config: agent\.yaml:4:\d+: ", "", str(error)) == message
    assert error.key in UNBUILT_KEYS


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("context_lines: 7", "context_lines"),
        ("no_progress: true", "no_progress"),
        ("max_waiting: 7", "max_waiting"),
        ("max_coalesced: 7", "max_coalesced"),
        ("approvers: [U123]", "approvers"),
    ],
)
def test_who_sets_a_key_of_the_slack_gateway_is_told_that_it_is_not_built(
    read: Read, text: str, key: str
) -> None:
    (wish,) = reserved_wishes(read(f"expose: {{agent: {{slack: {{workers: 2, {text}}}}}}}"))
    assert wish.startswith(f"expose.agent.slack.{key} is for the Slack gateway")


def test_a_slack_block_with_its_defaults_asks_for_nothing_that_is_not_built(read: Read) -> None:
    assert reserved_wishes(read("expose: {agent: {slack: {workers: 3}}}")) == ()


def test_who_describes_a_configuration_is_told_of_every_wish_that_is_not_built(read: Read) -> None:
    clients = "mcp_clients: [{name: a, command: x}]"
    config = read(f"{clients}\ntelemetry: {{enabled: true}}\nharness: {{pii: {{}}}}")
    assert [wish.key for wish in unbuilt_wishes(config)] == ["mcp_clients", "telemetry"]
    assert str(unbuilt_wishes(config)[0]).startswith("mcp_clients is not built yet: ")


def test_each_unbuilt_key_has_its_refusal_in_the_table_above() -> None:
    marks = test_a_wish_that_is_not_built_is_refused_by_whatever_runs_the_agent.pytestmark  # pyright: ignore[reportFunctionMemberAccess] - pytest puts it there
    table = next(mark.args[1] for mark in marks if mark.args[0] == ("text", "message"))
    refused = {re.split(r' "| is not', message)[0] for _, message in table}
    assert refused == set(UNBUILT_KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "remote_tools: []",
        "mcp_clients: []",
        "remote_agents: [{name: a, alias: b}, {name: '!'}]",
        "expose: {agent: {tools: {include: {}, exclude: {tools: []}}}}",
        "expose: {agent: {a2a: {serve_tools: false, max_concurrent_tools: 0, tool_timeout: ''}}}",
        "expose: {agent: {a2a: {prompts: {approve: operator, approvals: park}}}}",
        "expose: {agent: {jobs: {approvals: park}}}",
        "harness: {human_in_the_loop: {enabled: false}, tools: []}",
        "harness: {knowledge: {enabled: false, paths: [a], embeddings: {model: m, timeout: 5s}}}",
        "harness: {knowledge: {citations: [{pattern: a, replace: b}]}}",
        "harness: {memory: {enabled: false}, pii: {}}",
        "harness: {no_bell: true}",
        "telemetry: {enabled: false, sample_ratio: 0, capture: {enabled: true, max_bytes: 1}}",
    ],
)
def test_a_written_value_that_changes_nothing_is_accepted(read: Read, text: str) -> None:
    what_works = attrgetter(*(each for each in CONSUMED.values() if not each.startswith("expose.")))
    assert what_works(read(text)) == what_works(read("{}"))


def test_the_reference_page_lists_every_key_with_its_standing() -> None:
    page = PAGE.read_text(encoding="utf-8")
    keys = page.partition("\n## Keys\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([a-z0-9_.\[\]]+)` \|.*\| ([a-z ]+) \|$", keys, re.MULTILINE))
    expected = dict.fromkeys(UNBUILT_KEYS, "not built") | dict.fromkeys(CONSUMED, "works")
    expected |= dict.fromkeys(HOLDS, "holds") | dict.fromkeys(RESERVED, "reserved")
    expected |= dict.fromkeys(LATER, "later")
    assert rows == expected
