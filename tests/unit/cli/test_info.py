"""What ``fisk-ai info`` says of a configuration: its application, its stores, its tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fisk_ai.cli import info
from fisk_ai.testing.application import FakeApplication, FakeCommand, FakeFlag

COMPLETE = "system_prompt: p\nharness: {human_in_the_loop: {enabled: true}}\n"
"""What a run needs beside a model."""

FLAGS = (
    FakeFlag(name="region", help="Which \x1b[31mcoast"),
    FakeFlag(name="port", help="Where to dock", required=True),
    FakeFlag(name="depth", required=True, default=["3"]),
    FakeFlag(name="trace"),
    FakeFlag(name="secret", hidden=True),
    FakeFlag(name="realm", hidden=True, required=True),
)


Shown = tuple[list[str], list[str]]
Show = Callable[..., Shown]


@pytest.fixture
def show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Show:
    """Run the command over a text; returns the stripped lines of both streams."""

    def _show(text: str, *flags: str) -> Shown:
        config = tmp_path / "agent.yaml"
        config.write_text(text)
        assert info.execute(["--config", str(config), *flags]) == 0
        printed = capsys.readouterr()
        out, err = printed.out.splitlines(), printed.err.splitlines()
        return [line.strip() for line in out], [line.strip() for line in err]

    return _show


def describing(folder: Path, *paths: str, flags: Sequence[FakeFlag] = ()) -> FakeApplication:
    commands = [FakeCommand(path=path) for path in paths]
    return FakeApplication(folder, commands, name="harbour", global_flags=flags)


def test_every_global_flag_is_shown_with_its_help_and_what_becomes_of_it(
    show: Show, tmp_path: Path
) -> None:
    describing(tmp_path, "list", flags=FLAGS)
    out, _ = show("application_path: ./harbour\nglobal_flags: [region]\n")
    first = out.index("Exposable application global flags:") + 2
    assert out[first : first + 6] == [
        "region [exposed]: Which coast",
        "port [exposed, required]: Where to dock",
        "depth [exposed]",
        "trace",
        "realm [exposed, required]",
        "",
    ]


def test_the_agent_and_the_place_of_its_sessions_are_shown(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    application = describing(tmp_path, "list")
    versioned = application.document() | {"version": "1.2"}
    (tmp_path / "document.json").write_text(json.dumps(versioned))
    out, err = show(
        "identity: pier\napplication_path: ./harbour\nllm: {model: small}\nsystem_prompt: p\n"
    )
    assert "Identity: pier" in out
    assert f"Application: {application.path}" in out
    assert "Calls itself: harbour 1.2" in out
    assert f"Directory: {tmp_path}/state/fisk-ai/runs" in out
    assert err == []


@pytest.mark.parametrize(
    ("llm", "reason"),
    [
        (
            "{model: m, provider: foo}",
            'unknown llm provider "foo": known providers are [anthropic scripted]',
        ),
        (
            "{model: m, options: {x: 1}}",
            'invalid anthropic llm options: llm.options: unknown key "x", it takes none',
        ),
    ],
)
def test_a_model_that_a_run_would_refuse_is_said_and_no_key_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, llm: str, reason: str
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"{COMPLETE}llm: {llm}\n")
    assert info.execute(["--config", str(config)]) == 0
    place = f"checking config: {config}:3"
    err = capsys.readouterr().err
    assert err.startswith(f"warning: a run would be refused: {place}:")
    assert err.endswith(f": {reason}\n")


def headings(lines: list[str]) -> list[str]:
    kinds = ("Agent", "Model", "Memory", "Sessions", "PII scanning", "Telemetry", "Tools")
    more = ("Remote tool hosts", "MCP clients", "Prompt")
    return [line[:-1] for line in lines if line[:-1] in (*kinds, *more) and line.endswith(":")]


def test_sections_that_have_nothing_to_say_are_left_out(show: Show) -> None:
    out, _ = show("{}")
    assert headings(out) == ["Agent", "PII scanning", "Tools"]
    assert out[-1] == "No system_prompt defined"
    assert show(f"{COMPLETE}llm: {{model: m}}\n")[1] == []


def test_every_section_stands_in_its_place(show: Show) -> None:
    out, _ = show(
        "llm: {model: m}\nsystem_prompt: p\n"
        "harness: {memory: {enabled: true}}\ntelemetry: {enabled: true}\n"
        "remote_tools: [{name: pig}]\nmcp_clients: [{name: a, command: x}]\n"
    )
    assert headings(out) == [
        *("Agent", "Model", "Memory", "Sessions", "PII scanning", "Telemetry", "Tools"),
        *("Remote tool hosts", "MCP clients", "Prompt"),
    ]


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        ("{model: m}", "Tool search: enabled (used when 10 or more tools are available)"),
        ("{model: m, no_tool_search: true}", "Tool search: disabled (no_tool_search)"),
        (
            "{model: m, provider: scripted}",
            'Tool search: unavailable (provider "scripted" does not support it)',
        ),
        ("{model: m, provider: x}", 'Tool search: unknown (provider "x" is not known)'),
        ("{model: m}", "Thinking: provider default"),
        ("{model: m, thinking: {enabled: true}}", "Thinking: enabled"),
        ("{model: m, thinking: {}}", "Thinking: disabled"),
        ("{model: m, reasoning_effort: High}", "Effort: high"),
    ],
)
def test_the_model_is_shown_with_what_it_is_asked_to_do(show: Show, llm: str, said: str) -> None:
    assert said in show(f"llm: {llm}")[0]


def test_the_price_of_a_search_that_is_off_is_told_where_there_are_many_tools(
    show: Show, tmp_path: Path
) -> None:
    describing(tmp_path, *(f"c{number}" for number in range(7)))
    text = "application_path: ./harbour\nllm: {model: m, no_tool_search: true}\n"
    few, many = (
        f"{text}harness: {{{built}}}" for built in ("", "human_in_the_loop: {enabled: true}")
    )
    assert "Tool search: disabled (no_tool_search)" in show(few)[0]
    said = "Tool search: disabled (no_tool_search); all 10 tools are sent with every request"
    assert said in show(many)[0]


def test_built_in_tools_are_listed_with_their_source_and_their_gate(show: Show) -> None:
    out, err = show(
        "harness: {human_in_the_loop: {enabled: true}, memory: {enabled: true, read_only: true},"
        " tools: [{name: base64_encode, confirm: true}]}\n"
        "llm: {model: m}\nsystem_prompt: p\n"
    )
    rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in out if "│" in line]
    assert rows == [
        ["Tool", "Source", "Confirm"],
        ["ask_human_confirm", "built-in", ""],
        ["ask_human_select", "built-in", ""],
        ["ask_human_input", "built-in", ""],
        ["memory_list", "built-in", ""],
        ["memory_read", "built-in", ""],
        ["base64_encode", "built-in", "Yes"],
    ]
    assert err == []


def test_a_filter_takes_built_in_tools_out_of_the_list(show: Show) -> None:
    harness = "harness: {human_in_the_loop: {enabled: true}}"
    out, _ = show(f"{harness}\nexclude: {{tools: ['^ask_']}}")
    assert "The model is given no tools" in out


@pytest.mark.parametrize(
    ("memory", "lines"),
    [
        (
            "{enabled: true, options: {directory: notes}}",
            ["Backend: file", "Directory: BASE/notes", "Index in prompt: yes"],
        ),
        ("{enabled: true}", ["Directory: BASE/memory/cow"]),
        ("{enabled: true}", ["Limits: 64 KB per entry, 1024 entries"]),
        (
            "{enabled: true, no_index: true, read_only: true}",
            ["Index in prompt: no (no_index)", "Access: read only (read_only)"],
        ),
        (
            "{enabled: true, backend: jetstream}",
            ["Bucket: (not set)", "Context: (default)", "Prefix: cow (identity)"],
        ),
        (
            (
                "{enabled: true, backend: jetstream,"
                " options: {bucket: b, prefix: '', nats_context: c}}"
            ),
            [
                "Bucket: b",
                "Context: c",
                "Prefix: none (keys shared flat by every agent of the bucket)",
            ],
        ),
    ],
)
def test_memory_is_shown_with_its_place_and_its_limits(
    show: Show, tmp_path: Path, memory: str, lines: list[str]
) -> None:
    text = f"identity: cow\nroot_directory: {tmp_path}\nharness: {{memory: {memory}}}"
    out, _ = show(text)
    assert all(line.replace("BASE", str(tmp_path)) in out for line in lines)


def test_a_place_for_memories_that_a_run_would_refuse_is_said_in_its_line(show: Show) -> None:
    out, _ = show("harness: {memory: {enabled: true, options: {folder: x}}}")
    line = next(line for line in out if line.startswith("Directory: "))
    assert line.startswith("Directory: refused: invalid file memory options: ")
    assert "folder" in line


def test_sessions_in_a_stream_are_described_and_the_session_store_is_not_opened(
    show: Show,
) -> None:
    out, err = show(
        "llm: {model: m}\nnats_context: prod\n"
        "harness: {sessions: {backend: jetstream, options: {stream: S}}}"
    )
    assert "Stream: S" in out
    assert "Context: prod" in out
    assert "Prefix: (derived from the stream at connect time)" in out
    assert not any("harness.sessions" in line for line in err)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{}", ["Mode: redact (a hit is replaced by its type)"]),
        ("{}", ["Scanned: prompts and their context, output of tools"]),
        ("harness: {pii: {mode: off}}", ["Mode: off", "Scanned: nothing"]),
        (
            "harness: {pii: {mode: reject}}",
            ["Mode: reject (a prompt with a hit is refused, a result with one withheld)"],
        ),
    ],
)
def test_what_is_kept_from_the_model_is_shown(show: Show, text: str, lines: list[str]) -> None:
    out, _ = show(text)
    assert all(line in out for line in lines)


def test_telemetry_is_shown_with_the_origin_of_every_value(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "pier")
    out, err = show(
        "telemetry: {enabled: true, endpoint: 'https://c:4318/?key=abc', sample_ratio: 0,"
        " capture: {enabled: true}}\n"
        "harness: {knowledge: {enabled: true, embeddings: {api_key_env: EMBED_KEY}}}"
    )
    for line in (
        "Enabled: yes",
        "Export: not built yet: nothing is exported",
        "Endpoint: https://c:4318/?key=REDACTED (telemetry.endpoint)",
        "Service name: pier (OTEL_SERVICE_NAME)",
        "Sample ratio: 0 (telemetry.sample_ratio)",
        "Metrics: yes (default)",
        "Content capture: yes (delta)",
        "Captured at most: 8192 B (default)",
    ):
        assert line in out
    assert any(line.startswith("Credential scrub: ") and "EMBED_KEY" in line for line in out)
    assert any("telemetry is not built yet" in line for line in err)


def test_telemetry_that_could_not_work_is_said(show: Show) -> None:
    out, _ = show("telemetry: {enabled: true, sample_ratio: 2}")
    assert "Invalid: invalid telemetry.sample_ratio 2: must be from 0 to 1" in out


def test_a_variable_about_telemetry_is_reason_enough_to_show_it(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_TELEMETRY", "1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2")
    out, _ = show("{}")
    assert "Enabled: no (NO_TELEMETRY)" in out
    assert "Set in vain: OTEL_EXPORTER_OTLP_HEADERS" in out
    assert "hunter2" not in "".join(out)


def test_an_agent_with_nothing_but_tools_of_others_is_not_said_to_be_refused(show: Show) -> None:
    out, err = show("system_prompt: p\nllm: {model: m}\nremote_tools: [{name: pig}]\n")
    assert "The model is given no tools but those of other agents" in out
    assert not any("no tools available" in line for line in err)


def test_what_would_be_imported_is_listed_without_its_secrets(show: Show) -> None:
    out, err = show(
        "remote_tools: [{name: pig, alias: p, include: {tags: [x]}}]\n"
        "mcp_clients: [{name: a, url: 'https://u:hunter2@h/mcp?k=hunter2'},"
        " {name: b, command: npx, args: ['--url=https://x:hunter2@h']}]\n"
    )
    assert any(line.startswith("pig: asked when") and '"p_" leads' in line for line in out)
    assert any(line.startswith("a: http https://REDACTED@h/mcp?k=REDACTED: not") for line in out)
    assert any(line.startswith("b: stdio npx --url=https://REDACTED@h: not") for line in out)
    assert "hunter2" not in "".join(out + err)
    assert err[0].startswith("warning: a run would be refused: checking config: ")
    assert err[0].endswith("/agent.yaml:2:1: mcp_clients is not built yet: remove its entries")
    assert err[-1].startswith('warning: the include.tags of the remote_tools host "pig" is ignored')


@pytest.mark.parametrize(
    ("confirm", "warned"),
    [
        ("auto", ["for every client that cannot be asked"]),
        ("never", ["for every client"]),
        ("", []),
    ],
)
def test_a_gate_that_does_not_hold_over_mcp_is_a_warning(
    show: Show, confirm: str, warned: list[str]
) -> None:
    _, err = show(f"expose: {{agent: {{mcp: {{confirm_over_mcp: '{confirm}'}}}}}}")
    said = f"warning: expose.agent.mcp.confirm_over_mcp is {confirm}, so a gated tool runs unasked"
    told = [line for line in err if "confirm_over_mcp" in line]
    assert told == [f"{said} {when}; always asks" for when in warned]


def test_a_context_that_a_served_agent_could_not_use_is_a_warning(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    text = f"{COMPLETE}llm: {{model: m}}\nnats_context: prod"
    out, err = show(text)
    assert "NATS context: prod" in out
    assert err[0].startswith("warning: a served agent would be refused: connecting to NATS cont")
    monkeypatch.setenv("FISK_AI_NATS_URL", "nats://h")
    assert show(text)[1] == []
    folder = tmp_path / "nats" / "context"
    folder.mkdir(parents=True)
    (folder / "prod.json").write_text("{}")
    monkeypatch.delenv("FISK_AI_NATS_URL")
    assert show(text)[1] == []


def test_two_tools_of_one_name_are_told_and_the_rest_is_shown(show: Show, tmp_path: Path) -> None:
    describing(tmp_path, "memory list")
    out, err = show("application_path: ./harbour\nharness: {memory: {enabled: true}}")
    assert 'adds the built-in tool "memory_list", which collides' in err[-1]
    assert sum("memory_list" in line for line in out) == 2


HEAD = "llm: {model: m}\nsystem_prompt: p\nharness:\n"
CARD = f"{COMPLETE}llm: {{model: m}}\n"


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (
            "harness: {human_in_the_loop: {enabled: true}}\nllm: {model: m}\n",
            "",
            "system_prompt is required to run an agent",
        ),
        (COMPLETE, "", "llm.model is required to run an agent"),
        (
            (f"{HEAD}  human_in_the_loop: {{enabled: true}}\n  sessions:\n    backend: disk\n"),
            ":6:5: ",
            'harness.sessions.backend: unknown session backend "disk": known backends are ',
        ),
        (
            (
                f"{HEAD}  sessions:\n    options:\n      dri: x\n"
                "  human_in_the_loop: {enabled: true}\n"
            ),
            ":6:7: ",
            'harness.sessions.options: unknown key "dri", known are [directory]',
        ),
        (
            (f"{HEAD}  memory:\n    enabled: true\n    backend: disk\n"),
            ":6:5: ",
            'harness.memory.backend: unknown memory backend "disk": known backends are ',
        ),
        (
            (f"{HEAD}  memory:\n    enabled: true\n    options: {{dir: x}}\n"),
            ":6:15: ",
            'harness.memory.options: unknown key "dir", known are [directory]',
        ),
        (
            "llm: {model: m}\nsystem_prompt: p\n",
            "",
            "or bring tools of your own with --worker FILE",
        ),
        (f"{CARD}include: {{tools: [nothing]}}\n", "", "that include and exclude keep"),
        (f"{CARD}icon_url: ftp://x\n", ":4:1: ", "icon_url must be an https address with a host"),
        (f"{CARD}prompts: [{'x' * 257}]\n", ":4:1: ", "an entry of prompts has at most 256"),
        (
            (
                f"{HEAD}  human_in_the_loop: {{enabled: true}}\n"
                "  tools:\n  - name: base64_encode\n  - name: read_file\n    options: {rot: x}\n"
            ),
            ":8:15: ",
            'harness.tools[1].options: unknown key "rot", known are [root max_bytes]',
        ),
    ],
)
def test_what_a_run_would_refuse_is_one_line_and_the_rest_is_shown(
    show: Show, tmp_path: Path, *, text: str, place: str, reason: str
) -> None:
    out, (line, *more) = show(text)
    assert line.startswith("warning: a run would be refused: ")
    assert reason in line
    assert f"checking config: {tmp_path}/agent.yaml{place}" in line or not place
    assert tuple(each for each in out if each in ("Agent:", "PII scanning:")) == (
        "Agent:",
        "PII scanning:",
    )
    assert more == []


def test_a_root_of_a_file_tool_that_is_not_there_is_a_warning(show: Show, tmp_path: Path) -> None:
    text = (
        "llm: {model: m}\nsystem_prompt: p\n"
        f"root_directory: {tmp_path}\n"
        "harness: {tools: [{name: read_file, options: {root: docs}}]}\n"
    )
    said = 'harness.tools[0].options.root "docs" is no directory, so every read_file call will fail'
    assert show(text)[1] == [f"warning: {said}; create it"]
    (tmp_path / "docs").mkdir()
    assert show(text)[1] == []


def test_a_block_that_a_run_has_its_own_of_is_said_to_be_for_a_served_agent(show: Show) -> None:
    out, _ = show("expose: {agent: {a2a: {request_timeout: 5m}}}")
    line = "for a served agent; a run has its own in place of it, its durations included"
    assert f"Expose: {line}" in out
    assert not any(each.startswith("Expose:") for each in show("{}")[0])


def test_a_narrow_terminal_breaks_no_line_in_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("info_page", "info_data", "info_stores", "info_tools"):
        monkeypatch.setattr(f"fisk_ai.cli.{module}.terminal_width", lambda: 80)
    config = tmp_path / "agent.yaml"
    config.write_text(
        "llm: {model: small, no_tool_search: true}\nsystem_prompt: p\n"
        "harness: {pii: {mode: reject}, human_in_the_loop: {enabled: true}}\n"
    )
    assert info.execute(["--config", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if len(line) > 80]
    assert all(len(line.split()) <= 2 for line in wide)  # a path stays whole
    row = next(line for line in lines if "ask_human_select" in line)
    assert (len(row), row[-1]) == (80, "│")


def test_a_relative_place_says_what_it_depends_on(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        "harness:\n  memory: {enabled: true}\n  sessions: {options: {directory: kept}}\n"
        "llm: {model: m}\nidentity: pier\nsystem_prompt: p\n"
    )
    on = "(relative to the working directory; root_directory or --root-dir fixes it)"
    out, _ = show(text)
    assert f"Directory: {tmp_path}/memory/pier {on}" in out
    assert f"Directory: {tmp_path}/kept {on}" in out
    out, _ = show(text, "--root-dir", str(tmp_path))
    assert f"Directory: {tmp_path}/memory/pier" in out
    assert f"Directory: {tmp_path}/kept" in out


def test_a_reserved_key_is_told_as_doing_nothing(show: Show) -> None:
    _, err = show(f"{COMPLETE}llm: {{model: m}}\nremote_agents: [{{name: pig}}]\n")
    assert err == ["warning: remote_agents is reserved and does nothing yet; remove it"]
    assert show(f"{COMPLETE}llm: {{model: m}}\n")[1] == []


def test_tools_of_a_worker_are_said_to_be_unseen_where_there_are_no_others(show: Show) -> None:
    (line,) = show("system_prompt: p\nllm: {model: m}\n")[1]
    assert line.endswith("; info does not see the tools of a worker of your own (--worker FILE)")


def test_a_description_is_whole_where_no_terminal_bounds_it(show: Show, tmp_path: Path) -> None:
    told = "Looks at the tide, " * 20 + "and at nothing else"
    FakeApplication(
        tmp_path,
        [FakeCommand(path="look", help=told)],
        name="harbour",
        global_flags=[FakeFlag(name="realm", help=told)],
    )
    out, _ = show("application_path: ./harbour\n")
    assert [told in line for line in out if told[:40] in line] == [True, True]


def test_a_tag_that_only_looks_like_a_gate_shows_what_it_is(show: Show, tmp_path: Path) -> None:
    FakeApplication(
        tmp_path, [FakeCommand(path="rm", tags=["ai:confirm\u200b", "free"])], name="harbour"
    )
    out, _ = show("application_path: ./harbour\n")
    (row,) = (line for line in out if "rm" in line and "local" in line)
    assert "'ai:confirm\\u{200b}', free" in row
