"""The command as a process: what it imports, how it fails, which code it exits with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.tree import COMMANDS
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.version import __version__

_HEAVY = (
    "aiohttp",
    "anthropic",
    "httpx2",
    "jsonschema_rs",
    "mcp",
    "msgspec",
    "nats",
    "opentelemetry",
    "pydantic",
    "rich",
    "structlog",
    "textual",
    "uvloop",
    "yaml",
)
_REPORT = """
import sys
from fisk_ai.cli.main import main
status = main(sys.argv[1:])
heavy = sorted(name for name in {heavy} if name in sys.modules)
print("heavy:", *heavy, file=sys.stderr)
sys.exit(status)
"""


def _imports(*words: str, heavy: tuple[str, ...] = _HEAVY) -> str:
    code = _REPORT.format(heavy=heavy)
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_and_version_import_nothing_heavy(words: tuple[str, ...]) -> None:
    assert _imports(*words) == "heavy:"


@pytest.mark.parametrize("words", [("session", "ls"), ("completion", "ids")])
def test_listing_sessions_imports_no_configuration_code_and_no_client(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    heavy = tuple(name for name in _HEAVY if name != "msgspec")
    assert _imports(*words, "--state-dir", str(tmp_path), heavy=heavy) == "heavy:"


def test_showing_an_agent_takes_no_event_loop_and_nothing_a_run_alone_needs(tmp_path: Path) -> None:
    application = FakeApplication(tmp_path / "app", [FakeCommand(path="list")])
    config = tmp_path / "agent.yaml"
    config.write_text(f"application_path: {application.path}\nllm: {{model: m}}\n")
    shown = ("msgspec", "pydantic", "yaml")
    runs = ("asyncio", "fisk_ai.llm.model", "fisk_ai.memory.store", "fisk_ai.toolkit.functool")
    heavy = (*(name for name in _HEAVY if name not in shown), *runs)
    assert _imports("info", "--config", str(config), heavy=heavy) == "heavy:"


@pytest.mark.parametrize("command", ["info", "run"])
def test_no_start_waits_for_sessions_or_a_client_that_it_may_not_need(command: str) -> None:
    needless = ("anthropic", "fisk_ai.a2a", "fisk_ai.sessions.store", "nats", "structlog")
    assert _imports(command, "--help", heavy=needless) == "heavy:"


def test_the_version_is_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command.name in shown for command in COMMANDS)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "a subcommand from the list below is required, none was given"),
        (["cow"], "a subcommand from the list below is required, 'cow' is not one of them"),
        (["--cow"], "a subcommand from the list below is required, '--cow' is not one of them"),
        (["session"], "a subcommand from the list below is required, none was given"),
        (["session", "cow"], "a subcommand from the list below is required, 'cow' is not one"),
        (["run", "--cow"], "unrecognized arguments: --cow"),
        (["run", "--config"], "argument --config: expected one argument"),
        (["run", "--no-verbose", "x"], "unrecognized arguments: --no-verbose"),
        (["run", "--verb", "x"], "unrecognized arguments: --verb"),
        (["session", "show"], "the following arguments are required: id"),
        (["session", "rm"], "the following arguments are required: id"),
    ],
)
def test_bad_arguments_exit_1_with_a_reason_and_a_usage(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {reason}")
    assert len(printed.err.splitlines()) > 2


@pytest.mark.parametrize("word", ["-x", "-hello", "--cow", "-v=1"])
def test_whoever_begins_a_prompt_with_a_dash_is_told_where_it_goes(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", word, "hi"]) == 1
    told = capsys.readouterr().err.splitlines()[0]
    dashed = "; write a prompt that begins with a dash behind --, as in: fisk-ai run -- ..."
    assert told.endswith(dashed)
    assert main(["info", word]) == 1
    assert "prompt" not in capsys.readouterr().err.splitlines()[0]


KEY = "sk-ant-api03-Hunter2"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", f"--api-keyy={KEY}", "x"], "unrecognized arguments: --api-keyy"),
        (["run", "--api-keyy", KEY, "x"], "unrecognized arguments: --api-keyy"),
        (["run", "x", "--api-keyy", "two words", "--cow"], "unrecognized arguments: --api-keyy"),
        (["run", f"--api-key:{KEY}", "x"], "unrecognized arguments: --api-key"),
        (["run", f"-k{KEY}", "x"], "unrecognized arguments: -k; "),
        (["run", f"--{KEY}", "x"], "unrecognized arguments: --sk-ant; "),
        (["run", "--0hunter2", "x"], "unrecognized arguments: a flag that is none"),
        (["run", f"--verbose={KEY}", "x"], "argument --verbose: takes no value"),
        (["info", "--api-key", KEY], "unrecognized arguments: --api-key"),
        (["info", f"--api-key={KEY}"], "unrecognized arguments: --api-key"),
        (["info", KEY], "unrecognized arguments: more words than it takes"),
        (["session", "ls", "--api-key", KEY], "unrecognized arguments: --api-key"),
        (["session", "ls", KEY], "unrecognized arguments: more words than it takes"),
        (["session", "--api-key", KEY], "a subcommand from the list below is required, what was"),
        ([f"--api-key={KEY}", "run"], "a subcommand from the list below is required, '--api-key'"),
        ([KEY], "a subcommand from the list below is required, what was given is not one of them"),
    ],
)
def test_a_key_behind_a_misspelled_flag_is_not_repeated(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: {reason}")
    for part in (KEY, "Hunter2", "api03", "two words"):
        assert part not in printed


LATER = [command for command in COMMANDS if not command.module]


@pytest.mark.parametrize(
    "name", [name for command in LATER for name in (command.name, *command.aliases)]
)
def test_a_command_of_a_later_release_is_refused_as_such(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--any", "thing"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("fisk-ai: error: fisk-ai ")
    has = ", ".join(command.name for command in COMMANDS if command.module)
    assert err.endswith(f" is not built yet; this release has: {has}\n")


def test_a_character_that_the_output_cannot_carry_has_a_plain_form() -> None:
    code = """
import sys
from fisk_ai.cli import main
main._open_standard_streams()
print("╭─╮ é…漢")
"""
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environ
    )
    assert done.stdout.decode("latin-1") == "+-+ é...?\n"


@pytest.mark.parametrize("name", ["run", "info"])
def test_every_command_says_what_it_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: fisk-ai {name}")


def _run(*words: str | bytes, closed: str = "") -> subprocess.CompletedProcess[bytes]:
    program = [sys.executable, "-m", "fisk_ai.cli", *words]
    if closed:
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *program], capture_output=True, check=False
        )
    return subprocess.run(program, capture_output=True, check=False)


def test_arguments_that_are_no_text_are_refused_in_words() -> None:
    done = _run("run", "--config", b"no\xff.yaml", "hi")
    assert done.returncode == 1
    assert done.stderr == (
        b"fisk-ai: error: the value of --config holds bytes that are no text in this locale; "
        b"write it in the locale's encoding\n"
    )


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_standard_streams_break_nothing(closed: str) -> None:
    done = _run("--help", closed=closed)
    assert done.returncode == 0
    assert done.stdout.startswith(b"usage: ")
    assert done.stderr == b""


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_standard_output_is_refused_before_anything_starts(closed: str) -> None:
    done = _run("run", "--config", "none.yaml", "go", closed=closed)
    assert done.returncode == 1
    assert done.stderr.startswith(b"fisk-ai: error: standard output is closed, so the result would")
    assert len(done.stderr.splitlines()) == 1


def test_a_process_without_any_stream_fails_and_does_not_crash() -> None:
    done = _run("--help", closed="<&- >&- 2>&-")
    assert done.returncode == 1


def test_sigterm_while_the_command_starts_is_an_interrupt_with_exit_code_1() -> None:
    code = (
        "import os, signal, sys\n"
        "from fisk_ai.cli import main as module\n"
        "module._dispatch = lambda argv: os.kill(os.getpid(), signal.SIGTERM) or 0\n"
        "sys.exit(module.main([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == b"fisk-ai: error: interrupted\n"


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_an_interrupted_info_ends_the_application_it_asked(tmp_path: Path, name: str) -> None:
    application = tmp_path / "app"
    application.write_text(f"#!/bin/sh\necho $$ > pid\nkill -{name} $PPID\nexec sleep 30\n")
    application.chmod(0o755)
    (tmp_path / "agent.yaml").write_text("application_path: ./app\n")
    done = subprocess.run(
        [sys.executable, "-m", "fisk_ai.cli", "info"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=15,
    )
    assert (done.returncode, done.stderr) == (1, b"fisk-ai: error: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("behind", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_hang_up_ends_the_command_as_an_interrupt_and_no_signal_counts_behind_it(
    behind: str,
) -> None:
    code = (
        "import os, signal, sys\n"
        "from fisk_ai.cli import main as module\n"
        "def dispatch(argv):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "    finally:\n"
        f"        os.kill(os.getpid(), signal.{behind})\n"
        "        print('stopped')\n"
        "module._dispatch = dispatch\n"
        "status = module.main([])\n"
        f"os.kill(os.getpid(), signal.{behind})\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"stopped\n")
    assert done.stderr == b"fisk-ai: error: interrupted\n"


def test_a_reader_that_leaves_gets_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "fisk_ai.cli", "--help"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_sentence(unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fisk_ai.cli", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr == b"fisk-ai: error: standard output: No space left on device\n"


@pytest.mark.parametrize("words", [("--help",), ("cow",)])
def test_an_error_stream_that_takes_nothing_is_no_crash(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fisk_ai.cli", *words],
            stdout=full,
            stderr=full,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": ""},
        )
    assert done.returncode == 1


def test_an_interrupt_behind_the_end_does_not_choose_the_exit_code() -> None:
    program = (
        "import os, signal, sys; from fisk_ai.cli.main import main; sys.argv[1:] = ['--version']; "
        "status = main(); os.kill(os.getpid(), signal.SIGINT); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_while_a_command_is_imported_is_exit_code_1_and_no_death_by_signal(
    tmp_path: Path,
) -> None:
    interrupted = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "slow_command.py").write_text(f"exec({interrupted!r})\n")
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from fisk_ai.cli import main as module\n"
        "from fisk_ai.cli.tree import Command\n"
        "module.COMMANDS = (Command(name='slow', help='', module='slow_command'),)\n"
        "sys.exit(module.main(['slow']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "program"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"fisk-ai: error: interrupted\n")
