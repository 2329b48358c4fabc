from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import Config, Mode, prepare
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


def test_an_empty_configuration_has_the_documented_defaults(read: Read) -> None:
    config = read("{}")
    assert config.identity == "fisk-ai"
    assert config.harness.tool_timeout_s == 300.0
    assert (config.harness.sessions.backend, config.harness.sessions.declared) == ("file", False)
    assert config.harness.pii.mode == "redact"
    assert config.llm.provider == "anthropic"
    assert config.llm.thinking_enabled is None
    assert config.llm.output_cap == 8192
    assert config.llm.budget.max_tokens == 500_000
    assert config.llm.budget.max_iterations == 50
    assert config.llm.budget.call_timeout_s == 120.0
    assert config.expose.agent.a2a is None


def test_endpoints_have_the_documented_defaults(read: Read) -> None:
    a2a = read("expose: {agent: {a2a: {prompts: {}}}}").expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert (a2a.prompts.workers, a2a.prompts.elicit, a2a.prompts.elicit_max_s) == (1, False, 900.0)
    assert (a2a.request_timeout_s, a2a.tool_timeout_s) == (120.0, 30.0)
    assert (a2a.prompts.approve, a2a.prompts.approvals) == ("caller", "deny")


@pytest.mark.parametrize(
    ("text", "identity", "named"),
    [
        ("identity: cow", "cow", True),
        ("identity: cow\napplication_path: /bin/cow", "cow", True),
        ("application_path: /usr/bin/cow", "cow", False),
        ("application_path: ./bin/cow//", "cow", False),
        ("application_path: cow", "cow", False),
        ("application_path: /", "fisk-ai", False),
        ("application_path: ./todo.py", "todo", False),
        ("application_path: .py", "fisk-ai", False),
        ("identity: todo\napplication_path: ./todo.py", "todo", True),
        ("identity: ''", "fisk-ai", False),
        ("display_name: x", "fisk-ai", False),
        ("identity: fisk-ai", "fisk-ai", True),
        ("identity: 7", "7", True),
    ],
)
def test_an_identity_is_chosen_or_derived(
    read: Read,
    text: str,
    identity: str,
    named: bool,  # noqa: FBT001 - a column of the table
) -> None:
    config = read(text)
    assert (config.identity, config.named_identity) == (identity, named)


def test_a_derived_identity_follows_the_application(read: Read) -> None:
    config = read("application_path: /bin/cow")
    moved = prepare(config.model_copy(update={"application_path": "/bin/horse"}))
    assert (moved.identity, moved.named_identity) == ("horse", False)
    named = prepare(config.model_copy(update={"identity": "pig"}))
    assert (named.identity, named.named_identity) == ("pig", True)


@pytest.mark.parametrize(
    "identity", ["a.b", "a b", "a/b", "\u00fc", "a*", ">", "a\n", "'a\\n'", "a" * 129]
)
@pytest.mark.parametrize("mode", list(Mode))
def test_an_identity_that_cannot_be_a_subject_token_is_refused(
    refusal: Refusal, identity: str, mode: Mode
) -> None:
    error = refusal(f"llm: {{model: m}}\nsystem_prompt: s\nidentity: {identity!r}", mode)
    assert error.key == "identity"
    assert "only letters, digits, '-' or '_', at most 128" in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("application_path: ./todo.sh", "todo-sh"),
        ("identity: my.todo!", "my-todo"),
        ("identity: '...'", "fisk-ai"),
        (f"identity: {'.x' * 50}", "x" + "-x" * 19 + "-"),
    ],
)
def test_an_invalid_identity_comes_with_one_that_is_valid(
    read: Read, refusal: Refusal, text: str, suggested: str
) -> None:
    assert str(refusal(text)).endswith(f"; write identity: {suggested}")
    assert read(f"identity: {suggested}").identity == suggested


@pytest.mark.parametrize(
    ("written", "suggested"),
    [
        ("./greeter.py --db x", "greeter-py---db-x"),
        ("python greeter.py", "python-greeter"),
        ("./to do.py", "to-do"),
    ],
)
def test_arguments_behind_the_application_are_told_as_such(
    refusal: Refusal, written: str, suggested: str
) -> None:
    error = refusal(f"application_path: {written}")
    assert f'"{written}"' in str(error)
    assert "takes the path of a program alone, so remove the arguments" in str(error)
    assert str(error).endswith(f", write identity: {suggested}")
    assert error.key == "application_path"


def test_lists_of_words_are_trimmed_and_hold_each_word_once(read: Read) -> None:
    config = read(
        "application_path: cow\n"
        "harness: {confirm_tags: ['danger ', danger, '', ' ', b, danger]}\n"
        "global_flags: [--verbose, ' -v ', verbose, '', '--']\n"
    )
    assert config.harness.confirm_tags == ["danger", "", "b"]
    assert config.global_flags == ["verbose", "v"]


def test_a_filter_keeps_the_empty_tag_which_means_untagged_tools(read: Read) -> None:
    assert read("include: {tags: ['', a]}").include.tags == ["", "a"]


def test_words_are_trimmed_and_lower_cased(read: Read) -> None:
    config = read(
        "harness: {pii: {mode: ' OFF '}}\n"
        "llm: {reasoning_effort: ' High '}\n"
        "expose: {agent: {a2a: {prompts: {approve: ' Caller', approvals: 'DENY '}}}}\n"
    )
    assert config.harness.pii.mode == "off"
    assert config.llm.reasoning_effort == "high"
    a2a = config.expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert (a2a.prompts.approve, a2a.prompts.approvals) == ("caller", "deny")


@pytest.mark.parametrize(
    ("llm", "cap"),
    [
        ("{}", 8192),
        ("{thinking: {enabled: false}}", 8192),
        ("{thinking: {}}", 8192),
        ("{thinking: {enabled: true}}", 16_384),
        ("{thinking: {enabled: true}, budget: {max_output_tokens: 100}}", 100),
        ("{budget: {max_output_tokens: 20000}}", 20_000),
    ],
)
def test_the_output_cap_is_explicit_or_follows_thinking(read: Read, llm: str, cap: int) -> None:
    assert read(f"llm: {llm}").llm.output_cap == cap


@pytest.mark.parametrize(
    ("llm", "thinking"),
    [
        ("{}", None),
        ("{thinking: }", None),
        ("{thinking: {}}", False),
        ("{thinking: {enabled: true}}", True),
        ("{thinking: {enabled: false}}", False),
    ],
)
def test_silence_about_thinking_is_not_a_refusal_of_it(
    read: Read,
    llm: str,
    thinking: bool | None,  # noqa: FBT001 - a column of the table
) -> None:
    assert read(f"llm: {llm}").llm.thinking_enabled is thinking


def test_zero_means_the_default_where_nothing_else_could_be_meant(read: Read) -> None:
    config = read(
        "llm: {provider: '', budget: {max_tokens: 0, max_iterations: 0, max_output_tokens: 0}}\n"
        "harness: {sessions: {backend: ''}}\n"
        "expose: {agent: {a2a: {prompts: {workers: -3}}}}\n"
    )
    assert (config.llm.budget.max_tokens, config.llm.budget.max_iterations) == (500_000, 50)
    assert config.llm.provider == "anthropic"
    assert (config.harness.sessions.backend, config.harness.sessions.declared) == ("file", False)
    a2a = config.expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert a2a.prompts.workers == 1


def test_a_written_session_backend_is_declared(read: Read) -> None:
    sessions = read(
        "harness: {sessions: {backend: file, options: {directory: x}}}"
    ).harness.sessions
    assert (sessions.backend, sessions.declared) == ("file", True)
    assert sessions.options == {"directory": "x"}


_texts = st.sampled_from(["", "a", " A ", "off", "file", "1m"])


@given(
    identity=st.sampled_from(["", "cow"]),
    path=st.sampled_from(["", "/bin/cow", "horse/"]),
    tags=st.lists(_texts),
    flags=st.lists(st.sampled_from(["--a", " -b", "a", ""])),
    effort=st.sampled_from(["", " High "]),
    backend=st.sampled_from(["", "file", "other"]),
    tokens=st.integers(0, 3),
    workers=st.integers(-2, 2),
)
def test_preparing_twice_changes_nothing(
    identity: str,
    path: str,
    tags: list[str],
    flags: list[str],
    effort: str,
    backend: str,
    tokens: int,
    workers: int,
) -> None:
    written = Config.model_validate(
        {
            "identity": identity,
            "application_path": path,
            "harness": {"confirm_tags": tags, "sessions": {"backend": backend}},
            "global_flags": flags,
            "llm": {"reasoning_effort": effort, "budget": {"max_tokens": tokens}},
            "expose": {"agent": {"a2a": {"prompts": {"workers": workers}}}},
        }
    )
    once = prepare(written)
    twice = prepare(once)
    assert twice == once
    assert twice.named_identity == once.named_identity
    assert twice.harness.sessions.declared == once.harness.sessions.declared


def test_preparing_every_endpoint_twice_changes_nothing(read: Read) -> None:
    once = read(
        "harness: {pii: {mode: ' Reject '}, tools: [{name: ' read_file '}],"
        " memory: {backend: ''}}\n"
        "expose: {agent: {\n"
        "  mcp: {confirm_over_mcp: ' Auto ', builtins: [' read_file '], max_concurrent_tools: 0},\n"
        "  jobs: {workers: -1, max_payload: 0, approvals: Park},\n"
        "  slack: {workers: 0, approvers: [' U123 '], events: Full},\n"
        "  web: {listen: '', origins: ['https://a.example']},\n"
        "  a2a: {prompts: {workers: 0, approve: Operator}}}}\n"
    )
    assert prepare(once) == once
