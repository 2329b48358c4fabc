from __future__ import annotations

from collections.abc import Callable

import pytest

from fisk_ai.config import Config, prepare
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("{}", "redact"),
        ("{harness: {pii: }}", "redact"),
        ("{harness: {pii: {}}}", "redact"),
        ("{harness: {pii: {mode: }}}", "redact"),
        ("{harness: {pii: {mode: ' '}}}", "redact"),
        ("{harness: {pii: {mode: ' Reject'}}}", "reject"),
        ("{harness: {pii: {mode: off}}}", "off"),
    ],
)
def test_personal_data_is_redacted_unless_the_file_says_otherwise(
    read: Read, written: str, mode: str
) -> None:
    assert read(written).harness.pii.mode == mode


def test_the_off_of_other_yaml_versions_is_no_mode(refusal: Refusal) -> None:
    said = str(refusal("harness: {pii: {mode: false}}"))
    assert 'invalid harness.pii.mode "false": must be redact, reject or off' in said


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("[{confirm: true}]", "harness.tools: entry 1 has no name"),
        ("[{name: read_file}, {name: ' '}]", "harness.tools: entry 2 has no name"),
        ("[{name: knowledge_search}]", '"knowledge_search" is not a built-in an entry can enable'),
        ("[{name: x}]", "accepted: read_file, base64_encode"),
        ("[{name: read_file}, {name: ' read_file '}]", '"read_file" is listed twice'),
    ],
)
def test_an_entry_that_enables_no_built_in_is_refused(
    refusal: Refusal, tools: str, said: str
) -> None:
    error = refusal(f"harness: {{tools: {tools}}}")
    assert said in str(error)
    assert error.key == "harness.tools"


def test_an_entry_is_handed_on_with_its_name_trimmed(read: Read) -> None:
    entries = "[{name: ' read_file ', confirm: true, options: {root: /x}}, {name: base64_encode}]"
    tools = read(f"harness: {{tools: {entries}}}").harness.tools
    assert [(tool.name, tool.confirm, tool.options) for tool in tools] == [
        ("read_file", True, {"root": "/x"}),
        ("base64_encode", False, {}),
    ]


@pytest.mark.parametrize(
    ("written", "backend", "declared"),
    [
        ("{enabled: true}", "file", False),
        ("{enabled: true, backend: ''}", "file", False),
        ("{backend: file}", "file", True),
        ("{backend: other}", "other", True),
    ],
)
def test_a_backend_of_memory_counts_as_declared_when_it_is_written(
    read: Read,
    written: str,
    backend: str,
    declared: bool,  # noqa: FBT001 - a column of the table
) -> None:
    config = read(f"harness: {{memory: {written}}}")
    for memory in (config.harness.memory, prepare(config).harness.memory):
        assert (memory.backend, memory.declared) == (backend, declared)
        assert memory.enabled == ("enabled" in written)


def test_options_of_memory_are_left_to_its_backend(read: Read) -> None:
    options = "{directory: x, anything: [1]}"
    memory = read(f"harness: {{memory: {{backend: '', options: {options}}}}}").harness.memory
    assert memory.options == {"directory": "x", "anything": [1]}


@pytest.mark.parametrize(
    ("knowledge", "names"),
    [
        ("{enabled: true, embeddings: {api_key_env: ' KEY '}}", ("KEY",)),
        ("{enabled: true, embeddings: {api_key_env: ' '}}", ()),
        ("{enabled: true, embeddings: {}}", ()),
        ("{enabled: true}", ()),
        ("{enabled: false, embeddings: {api_key_env: KEY}}", ("KEY",)),
    ],
)
def test_a_variable_that_the_file_calls_a_credential_is_known(
    read: Read, knowledge: str, names: tuple[str, ...]
) -> None:
    assert read(f"harness: {{knowledge: {knowledge}}}").credential_names == names
