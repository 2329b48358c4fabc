"""Completion in real shells, with the scripts that the command prints."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fisk_ai.cli.completion import IDS_LIMIT
from fisk_ai.cli.main import main
from fisk_ai.cli.tree import COMMANDS

SHELL_S = 15.0
"""How long a shell may take on a busy machine."""

_NAME = "t-" + "a" * 64
_OTHER = "t-" + "b" * 64


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two sessions, and files that are none."""
    runs = tmp_path / "state" / "fisk-ai" / "runs"
    runs.mkdir(parents=True)
    for number, name in enumerate((_NAME, _OTHER, "x$(touch owned)", "not-a session")):
        path = runs / f"{name}.json"
        path.touch()
        os.utime(path, (number, number))
    (tmp_path / "agent two.yaml").touch()
    return tmp_path


def _environ(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "TERM": "dumb",
        "PS1": "ready$ ",
        "LC_ALL": "C.UTF-8",
    }


def _offered(script: str, home: Path, *words: str) -> list[str]:
    """Return what bash would offer behind ``words``, the last of which is being typed."""
    code = (
        f'{script}\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n'
        '_fisk_ai\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", "fisk-ai", *words],
        capture_output=True,
        text=True,
        check=True,
        env=_environ(home),
        cwd=home,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ([""], {"run", "session", "info", "completion"}),
        (["--v"], {"--version"}),
        (["s"], {"session"}),
        (["session", "sh"], {"show"}),
        (["run", "--no-"], {"--no-color", "--no-tui", "--no-telemetry"}),
        (["run", '"tell', "me", 'more"', "--fo"], {"--force"}),
        (["run", "'it is'", "--config", "x.yaml", "--fo"], {"--force"}),
        (["run", "--config", "=", "x.yaml", "--fo"], {"--force"}),
        (["session", "--config", "x", "view", "--tr"], {"--transcript"}),
        (["run", "--config", "--fo"], set[str]()),
        (["run", "--", "--fo"], set[str]()),
        (["run", "session", "sh"], set[str]()),
        (["run", "--nats"], {"--nats-context"}),
        (["run", "--resume", ""], {_NAME, _OTHER}),
        (["run", "--resume", "=", "t-a"], {_NAME}),
        (["run", "--resume", '"t-a'], {_NAME}),
        (["session", "show", "t-b"], {_OTHER}),
        (["session", "show", "--state-dir", "/none", ""], set[str]()),
        (["session", "rm", "t-", "-"], {"--config", "--state-dir"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_is_offered_what_can_stand_there(
    words: list[str], offered: set[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = set(_offered(_script("bash", capsys), home, *words))
    assert found >= offered
    assert bool(found) == bool(offered)
    assert all(each.startswith(words[-1].lstrip("\"'")) for each in found)
    assert not (home / "owned").exists()


def test_every_command_of_the_tree_is_offered(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = [command.name for command in COMMANDS if command.module]
    assert _offered(_script("bash", capsys), home, "") == built


class Shell:
    """An interactive shell at a terminal, to press Tab in."""

    def __init__(self, command: list[str], home: Path, script: str) -> None:
        self._leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (24, 200))
        self._seen = b""
        (home / "script").write_text(script, encoding="utf-8")
        self.process = subprocess.Popen(
            command,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=_environ(home),
            cwd=home,
            start_new_session=True,
        )
        os.close(follower)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)

    def press(self, keys: str, shown: str) -> str:
        """Press keys and wait until ``shown`` is on the screen."""
        os.write(self._leader, keys.encode())
        deadline = time.monotonic() + SHELL_S
        while shown not in self._seen.decode(errors="replace"):
            assert time.monotonic() < deadline, self._seen
            if select.select([self._leader], [], [], 0.1)[0]:
                self._seen += os.read(self._leader, 65536)
        screen, self._seen = self._seen.decode(errors="replace"), b""
        return screen


@pytest.fixture
def bash(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """An interactive bash that has read the script."""
    shell = Shell(["bash", "--norc", "--noprofile", "-i"], home, _script("bash", capsys))
    shell.press(". ./script; echo lo''aded\n", "loaded")
    yield shell
    shell.close()


def test_tab_completes_behind_quotes(bash: Shell) -> None:
    bash.press('fisk-ai run "tell me" --forc\t', 'run "tell me" --force ')
    bash.press("\x15fisk-ai run 'it is --c' --thi\t", "--thinking ")
    bash.press("\x15fisk-ai ses\t", "fisk-ai session ")
    bash.press("sho\t", "show ")


def test_tab_completes_a_session_and_a_file_with_a_blank_in_its_name(bash: Shell) -> None:
    bash.press("fisk-ai run --resume t-a\t", _NAME)
    bash.press("\x15fisk-ai run --resume 't-b\t", f"'{_OTHER}'")
    bash.press("\x15fisk-ai run --config age\t", r"agent\ two.yaml")
    bash.press('\x15fisk-ai run --config "age\t', '"agent two.yaml"')


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_script(
    shell: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _script(shell, capsys)
    assert "--api-key" in script or "-l api-key " in script
    assert _NAME not in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = home / "script"
    path.write_text(script, encoding="utf-8")
    subprocess.run([shell, "-n", str(path)], check=True)


def test_a_shell_that_is_unknown_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 1
    assert "name one of bash, zsh, fish" in capsys.readouterr().err


def test_the_newest_sessions_are_offered_first_and_not_without_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"t-{number:064x}" for number in range(IDS_LIMIT + 5)]
    for number, name in enumerate(names):
        (tmp_path / f"{name}.json").touch()
        os.utime(tmp_path / f"{name}.json", (number, number))
    assert main(["completion", "ids", "--state-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == names[: -IDS_LIMIT - 1 : -1]


def test_a_status_is_completed_from_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert "open completed suspended error budget max_iterations" in capsys.readouterr().out
