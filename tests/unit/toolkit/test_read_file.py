"""Reading files below one directory, and none beside it."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fisk_ai.errors import ConfigError, ToolError
from fisk_ai.toolkit.bounds import RESULT_LIMIT_BYTES, bounded
from fisk_ai.toolkit.builtin import read_file
from fisk_ai.toolkit.builtin.confined import NotAFileError, OutsideError, open_below
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.functool import FunctionTool

SECRET = "what lies beside the directory"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a directory with files and links inside, and a secret beside it."""
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "note.txt").write_text("héllo", encoding="utf-8")
    (root / "a" / "b" / "deep.txt").write_text("deep", encoding="utf-8")
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    (root / "to_note").symlink_to("note.txt")
    (root / "a" / "up").symlink_to("../note.txt")
    (root / "a" / "dir").symlink_to("b")
    (root / "out").symlink_to("../secret.txt")
    (root / "a" / "far").symlink_to("../..")
    (root / "absolute").symlink_to(root / "note.txt")
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nowhere")
    return root


def tool(options: Mapping[str, object], base: Path | None = None) -> FunctionTool:
    return read_file.build(options, gated=False, base=base)


async def read(built: FunctionTool, path: str) -> dict[str, object]:
    raw = json.dumps({"path": path}).encode()
    outcome = await built.execute(CallContext(), raw, ExecDeps())
    return json.loads(outcome.output)


async def refusal(built: FunctionTool, path: str) -> str:
    with pytest.raises(ToolError) as caught:
        await read(built, path)
    return str(caught.value)


async def test_text_comes_as_it_is_and_other_bytes_as_base64(root: Path) -> None:
    (root / "blob").write_bytes(b"\xff\x00")
    built = tool({"root": str(root)})
    raw = b'{"path":"note.txt"}'
    text = (await built.execute(CallContext(), raw, ExecDeps())).output
    assert text == (
        '{"path":"note.txt","found":true,"size":6,"encoding":"utf-8","content":"héllo"}'
    )
    assert await read(built, "blob") == {
        "path": "blob",
        "found": True,
        "size": 2,
        "encoding": "base64",
        "content": base64.b64encode(b"\xff\x00").decode(),
    }


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a/b/deep.txt", "deep"),
        ("./a//b/./deep.txt", "deep"),
        ("a/../note.txt", "héllo"),
        ("to_note", "héllo"),
        ("a/up", "héllo"),
        ("a/dir/deep.txt", "deep"),
        ("a/dir/../../note.txt", "héllo"),
    ],
)
async def test_a_path_and_relative_links_may_turn_around_inside(
    root: Path, path: str, content: str
) -> None:
    assert (await read(tool({"root": str(root)}), path))["content"] == content


async def test_a_path_with_half_a_character_is_a_file_that_is_not_there(root: Path) -> None:
    built = tool({"root": str(root)})
    outcome = await built.execute(CallContext(), b'{"path":"\\ud83d"}', ExecDeps())
    assert outcome.output == '{"path":"\ufffd","found":false}'


@pytest.mark.parametrize("path", ["missing", "a/missing/x", "gone", "a/b/../../missing"])
async def test_a_file_that_is_not_there_is_an_answer(root: Path, path: str) -> None:
    assert await read(tool({"root": str(root)}), path) == {"path": path, "found": False}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.txt", "leads out of the directory"),
        ("a/../../root/note.txt", "leads out of the directory"),
        ("out", "leads out of the directory"),
        ("a/far/secret.txt", "leads out of the directory"),
        ("/etc/passwd", "it is absolute"),
        ("absolute", "a link on it is absolute, and so leads out of the directory"),
        ("loop", "too many levels of symbolic links"),
        ("a", "no regular file"),
        ("", "names a directory"),
        ("a/..", "names a directory"),
        ("note.txt/x", "not a directory"),
        ("nul\0", "no file can have such a name"),
        ("x" * 300, "file name too long"),
    ],
)
async def test_what_is_outside_or_no_file_is_refused_in_words(
    root: Path, path: str, reason: str
) -> None:
    said = await refusal(tool({"root": str(root)}), path)
    assert said.startswith("cannot read ")
    assert reason in said
    assert SECRET not in said


async def test_a_pipe_is_refused_without_waiting_for_it(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "no regular file" in await refusal(tool({"root": str(root)}), "pipe")


async def test_a_file_over_the_limit_is_refused_not_cut(root: Path) -> None:
    (root / "big").write_bytes(b"x" * 11)
    built = tool({"root": str(root), "max_bytes": 10})
    assert "over the limit of 10 bytes" in await refusal(built, "big")
    (root / "big").write_bytes(b"x" * 10)
    assert (await read(built, "big"))["size"] == 10
    assert "10 bytes" in built.description


@pytest.mark.parametrize(
    ("data", "encoding"),
    [(b"a\n" * 524_288, "utf-8"), (os.urandom(1_048_576), "base64"), (b"\1" * 1_048_576, "base64")],
)
async def test_the_largest_file_there_may_be_is_a_result_that_is_passed_on_whole(
    root: Path, data: bytes, encoding: str
) -> None:
    (root / "big").write_bytes(data)
    outcome = await tool({"root": str(root)}).execute(CallContext(), b'{"path":"big"}', ExecDeps())
    assert bounded(outcome.output) is outcome.output
    assert json.loads(outcome.output)["encoding"] == encoding


async def test_a_file_that_would_be_cut_as_a_result_is_refused(root: Path) -> None:
    (root / "big").write_bytes(bytes(RESULT_LIMIT_BYTES))
    built = tool({"root": str(root), "max_bytes": 2 * RESULT_LIMIT_BYTES})
    assert f"over the limit of {RESULT_LIMIT_BYTES} bytes" in await refusal(built, "big")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such file system")
async def test_a_file_that_says_it_is_empty_is_bounded_all_the_same() -> None:
    built = tool({"root": "/proc/self", "max_bytes": 5})
    assert "over the limit" in await refusal(built, "status")


async def test_a_root_that_is_not_there_is_no_missing_file(root: Path) -> None:
    said = await refusal(tool({"root": str(root / "nowhere")}), "note.txt")
    assert said == "cannot read note.txt: the root directory of this tool is not there"
    assert "not a directory" in await refusal(tool({"root": str(root / "note.txt")}), "x")


async def test_the_root_starts_at_the_base_and_is_the_base_by_default(root: Path) -> None:
    assert (await read(tool({}, root), "note.txt"))["found"] is True
    assert (await read(tool({"root": "a"}, root), "b/deep.txt"))["found"] is True
    assert (await read(tool({"root": str(root)}, root / "a"), "note.txt"))["found"] is True


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"roots": "x"}, 'options: unknown key "roots", known are [root max_bytes]'),
        ({"root": 1}, "root must be text, not a whole number"),
        ({"max_bytes": "9"}, "max_bytes must be a whole number, not text"),
        ({"max_bytes": True}, "max_bytes must be a whole number, not true or false"),
        ({"max_bytes": 0}, "max_bytes must be positive, got 0"),
    ],
)
def test_options_are_read_strictly(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tool(options)
    assert str(caught.value).startswith("invalid read_file options: ")
    assert reason in str(caught.value)
    assert caught.value.key == f"options.{next(iter(options))}"


def test_a_gated_reader_shows_the_path_a_person_decides_on(root: Path) -> None:
    built = read_file.build({}, gated=True, base=root)
    assert built.confirm_trigger([]) == "ai:confirm"
    assert built.trace_line(b'{"path":"a b"}') == "read_file 'a b'"
    assert built.describe(b"[]").display.startswith("read_file ")
    assert built.missing_required(b"{}") == ["path"]


WORDS = "a b dir far up out to_note absolute loop gone note.txt deep.txt secret.txt root .. . "
NAMES = st.sampled_from(WORDS.split(" "))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES, min_size=1, max_size=7))
def test_no_path_reaches_a_file_outside(root: Path, names: list[str]) -> None:
    path = "/".join(names)
    try:
        descriptor = open_below(root, path)
    except (OutsideError, NotAFileError, OSError):
        return
    with os.fdopen(descriptor, "rb") as file:
        assert os.path.samestat(os.fstat(descriptor), (root / path).stat())
        assert (root / path).resolve().is_relative_to(root.resolve())
        assert file.read().decode() != SECRET


@pytest.fixture
def swapping(root: Path) -> Iterator[Path]:
    """Exchange a directory of the path for a link to outside, again and again."""
    (root / "swapped").mkdir()
    (root / "swapped" / "secret.txt").write_text("inside", encoding="utf-8")
    (root / "link").symlink_to("..")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "swapped").rename(root / "kept")
            (root / "link").rename(root / "swapped")
            (root / "swapped").rename(root / "link")
            (root / "kept").rename(root / "swapped")

    thread = threading.Thread(target=swap)
    thread.start()
    yield root
    stop.set()
    thread.join()


def test_no_race_reaches_a_file_outside(swapping: Path) -> None:
    seen: set[str] = set()
    for _ in range(500):
        try:
            descriptor = open_below(swapping, "swapped/secret.txt")
        except (OutsideError, OSError) as exc:
            seen.add(type(exc).__name__)
            continue
        with os.fdopen(descriptor, encoding="utf-8") as file:
            seen.add(file.read())
    assert SECRET not in seen


def test_no_descriptor_is_left_open(root: Path) -> None:
    places = Path("/proc/self/fd")
    if not places.exists():
        pytest.skip("descriptors cannot be counted")
    before = len(list(places.iterdir()))
    for path in ("a/dir/../../note.txt", "a/b/missing", "a", "loop", "a/far/x", "../x"):
        try:
            os.close(open_below(root, path))
        except (OutsideError, NotAFileError, OSError):
            continue
    assert len(list(places.iterdir())) == before
