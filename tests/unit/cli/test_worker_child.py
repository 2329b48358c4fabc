"""A worker that cannot start says why, and never stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fisk_ai.cli import worker_child
from fisk_ai.cli.hosting import HostPlan, host
from fisk_ai.cli.worker_child import REASON_LIMIT, start_worker
from fisk_ai.errors import SetupError
from fisk_ai.testing.command import Agent, alive, children, until

pytestmark = pytest.mark.integration


def _nothing() -> None:
    return None


async def _refused(arguments: list[str], environ: dict[str, str]) -> str:
    with pytest.raises(SetupError) as refused:
        await start_worker(arguments, environ, verbose=False, meanwhile=_nothing)
    assert not [line for line in children(os.getpid()).values() if "agent_worker" in line]
    return str(refused.value)


async def test_a_refusal_of_the_worker_is_its_own_sentence() -> None:
    reason = await _refused(["--config", "/none.yaml", "--hosted"], dict(os.environ))
    assert reason == 'reading config "/none.yaml": No such file or directory'


async def test_a_worker_that_dies_at_once_leaves_its_last_words() -> None:
    reason = await _refused([], {"PYTHONHOME": "/none"})
    assert reason.startswith("the agent worker ended before it was ready: ")


async def _refusal_of(tmp_path: Path, text: str) -> str:
    """Return the refusal of a worker of one's own."""
    program = tmp_path / "own.py"
    program.write_text(text)
    with pytest.raises(SetupError) as refused:
        await start_worker(
            ["--hosted"],
            dict(os.environ),
            verbose=False,
            meanwhile=_nothing,
            program=("-P", str(program)),
        )
    return str(refused.value)


async def test_an_error_of_several_lines_is_told_with_all_of_them(tmp_path: Path) -> None:
    reason = await _refusal_of(
        tmp_path, "x = 1\nraise ValueError('2 faults:\\nname\\n  is missing')\n"
    )
    assert reason == (
        "the agent worker ended before it was ready: ValueError: 2 faults:; name; is missing"
        f" ({tmp_path}/own.py, line 2)"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pass\n", ": it wrote nothing; a worker of your own ends with agent_worker.serve(...)"),
        ("import os\nos._exit(7)\n", " (status 7)"),
    ],
)
async def test_a_worker_that_ends_in_silence_is_told_with_what_is_known(
    tmp_path: Path, text: str, said: str
) -> None:
    assert await _refusal_of(tmp_path, text) == f"the agent worker ended before it was ready{said}"


async def test_a_worker_that_is_killed_before_it_is_ready_is_told_with_its_signal() -> None:
    def kill() -> None:
        (worker,) = (pid for pid, line in children(os.getpid()).items() if "agent_worker" in line)
        os.kill(worker, signal.SIGKILL)

    with pytest.raises(SetupError) as refused:
        await start_worker(["--hosted"], dict(os.environ), verbose=False, meanwhile=kill)
    assert str(refused.value) == "the agent worker ended before it was ready (SIGKILL)"


async def test_a_worker_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_child, "READY_TIMEOUT_S", 0.01)
    reason = await _refused(["--config", str(tmp_path / "x"), "--hosted"], dict(os.environ))
    assert reason.startswith("the agent worker was not ready within 0.01 s")


async def test_everything_started_is_gone_when_the_block_fails(tmp_path: Path) -> None:
    agent = Agent.make(tmp_path / "home")
    arguments = ["--config", str(agent.home / "agent.yaml"), "--hosted"]
    arguments += ["--script", str(agent.home / "script.yaml")]
    before = set(children(os.getpid()))
    plan = HostPlan(arguments=arguments, environ=agent.environ)
    started: set[int] = set()

    async def fail() -> None:
        async with host(plan, _nothing) as hosted:
            assert hosted.worker.identity == "cow"
            started.update(set(children(os.getpid())) - before)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert len(started) == 2
    assert not any(alive(pid) for pid in started)
    assert list((agent.home / "tmp").iterdir()) == []


def test_the_worker_is_given_what_was_resolved_and_nothing_twice() -> None:
    environ = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "exported",
        "ANTHROPIC_API_KEY_FILE": "/secret",
        "ANTHROPIC_BASE_URL": "http://exported",
        "FISK_AI_NATS_CREDS": "/creds",
    }
    plan = HostPlan(arguments=(), environ=environ, api_key="resolved")
    assert plan.worker_environ("nats://u:p@127.0.0.1:1") == {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "resolved",
        "FISK_AI_NATS_URL": "nats://u:p@127.0.0.1:1",
    }
    assert "resolved" not in repr(plan)


async def test_what_the_worker_shares_with_us_is_closed(tmp_path: Path) -> None:
    before = _descriptors()
    for _ in range(3):
        await _refused(["--config", str(tmp_path / "none"), "--hosted"], dict(os.environ))
    assert _descriptors() == before


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


_FORKED = """
import os, signal, sys
said, saying = os.pipe()
if os.fork():
    os.read(said, 1)
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
os.write(saying, b".")
signal.pause()
"""


async def _own(tmp_path: Path, source: str, *arguments: str) -> str:
    program = tmp_path / "own.py"
    program.write_text(source, encoding="utf-8")
    with pytest.raises(SetupError) as refused:
        await start_worker(
            arguments, dict(os.environ), verbose=False, meanwhile=_nothing, program=(str(program),)
        )
    return str(refused.value)


async def test_a_worker_that_goes_into_the_background_is_refused_and_ended(tmp_path: Path) -> None:
    left = tmp_path / "left"
    reason = await _own(tmp_path, _FORKED, str(left))
    assert reason == (
        "the agent worker ended before it was ready and left a process behind; "
        "a worker stays in the foreground"
    )
    pid = int(left.read_text(encoding="utf-8"))
    until("what it left is gone", lambda: not alive(pid))


async def test_what_a_worker_started_in_its_group_ends_when_it_is_stopped(tmp_path: Path) -> None:
    left = tmp_path / "left"
    source = (
        "import os, signal, sys\n"
        "ready = int(sys.argv[sys.argv.index('--ready-fd') + 1])\n"
        "if os.fork():\n"
        "    signal.pause()\n"
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        'os.write(ready, b\'{"ready": true, "identity": "cow"}\\n\')\n'
        "signal.pause()\n"
    )
    program = tmp_path / "own.py"
    program.write_text(source, encoding="utf-8")
    worker = await start_worker(
        [str(left)], dict(os.environ), verbose=False, meanwhile=_nothing, program=(str(program),)
    )
    await worker.stop(at_once=False)
    pid = int(left.read_text(encoding="utf-8"))
    until("what it left is gone", lambda: not alive(pid))


async def test_a_worker_that_does_not_leave_is_told_of_and_killed_in_bounded_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_child, "SLOW_S", 0.01)
    monkeypatch.setattr(worker_child, "DRAIN_TIMEOUT_S", 0.26)
    program = tmp_path / "own.py"
    program.write_text(
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "ready = int(sys.argv[sys.argv.index('--ready-fd') + 1])\n"
        'os.write(ready, b\'{"ready": true, "identity": "cow"}\\n\')\n'
        "signal.pause()\n",
        encoding="utf-8",
    )
    worker = await start_worker(
        [], dict(os.environ), verbose=False, meanwhile=_nothing, program=(str(program),)
    )
    await worker.stop(at_once=False)
    assert worker.status == -signal.SIGKILL
    assert capfd.readouterr().err == (
        "the agent's process does not end yet, as when code of a tool or a hook keeps it; "
        "it is killed in 0.25 s\n"
    )


@pytest.mark.parametrize(
    "line",
    ["'x' * 200_000", "'[' * 60_000 + '\\n'", "'none\\n'", '\'{"ready":true,"identity":7}\\n\''],
    ids=["endless", "deep", "no JSON", "no text"],
)
async def test_what_is_no_ready_line_is_refused_in_words(tmp_path: Path, line: str) -> None:
    source = (
        "import os, sys\n"
        "ready = int(sys.argv[sys.argv.index('--ready-fd') + 1])\n"
        f"os.fdopen(ready, 'w').write({line})\n"
    )
    assert await _own(tmp_path, source) == (
        "what the agent worker wrote to its --ready-fd is no ready line; "
        "leave that to agent_worker.serve"
    )


async def test_a_refusal_of_a_foreign_worker_is_one_bounded_line(tmp_path: Path) -> None:
    source = (
        "import json, os, sys\n"
        "ready = int(sys.argv[sys.argv.index('--ready-fd') + 1])\n"
        "reason = 'one\\ntwo \\x1b[31mthree ' + 'x' * 9000\n"
        "fact = {'ready': False, 'error': reason}\n"
        "os.write(ready, json.dumps(fact).encode() + b'\\n')\n"
    )
    reason = await _own(tmp_path, source)
    assert reason.startswith("one two three xxx")
    assert len(reason) == REASON_LIMIT + 1


async def test_a_worker_of_ones_own_that_fails_is_told_with_its_file_and_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep.py").write_text("def fall(n):\n    raise RuntimeError('boom')\n")
    broken = tmp_path / "a worker.py"
    for text, said in (
        ("import deep\n\ndef go():\n    deep.fall(1)\n\ngo()\n", ": RuntimeError: boom"),
        ("x = 1\n\n\nif x\n", ": SyntaxError: expected ':'"),
    ):
        broken.write_text(text)
        with pytest.raises(SetupError) as refused:
            await start_worker(
                [], dict(os.environ), verbose=False, meanwhile=_nothing, program=(str(broken),)
            )
        assert str(refused.value).endswith(f"{said} ({broken}, line 4)")
