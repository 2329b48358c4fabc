"""What a person is shown of a worker's log."""

from __future__ import annotations

import tempfile

from fisk_ai.cli import worker_log

STACK = (
    "Traceback (most recent call last):\n"
    '  File "run.py", line 1, in run\n'
    '  File "/own.py", line 5, in pre\n'
    "RuntimeError: two\n"
    "  lines\n"
)
ENTRY = "2026-12-01T04:30:31.742942Z [error    ] it ended [fisk_ai.serving] work=t-1\n"


def error_of(text: str, program: str = "/own.py") -> str:
    with tempfile.TemporaryFile() as log:
        log.write(text.encode())
        log.flush()
        return worker_log.error(log, program)


def test_the_error_of_a_traceback_is_told_without_the_way_to_it() -> None:
    assert error_of(ENTRY + STACK) == "RuntimeError: two; lines (/own.py, line 5)"
    assert error_of(ENTRY + STACK, "/other.py") == "RuntimeError: two; lines"


def test_what_was_logged_after_an_error_is_no_part_of_it() -> None:
    assert (
        error_of(ENTRY + STACK + ENTRY + "  more\n") == "RuntimeError: two; lines (/own.py, line 5)"
    )


def test_the_last_of_several_errors_is_told() -> None:
    again = "During handling of it another one occurred:\n\n" + STACK.replace("two", "three")
    assert error_of(STACK + again).startswith("RuntimeError: three")


def test_a_log_without_a_traceback_has_no_error_and_shows_its_last_lines() -> None:
    assert error_of(ENTRY) == ""
    with tempfile.TemporaryFile() as log:
        log.write(b"\n".join(b"\x1b[31mline %d" % number for number in range(50)))
        log.flush()
        lines = worker_log.tail(log)
    assert (len(lines), lines[-1]) == (worker_log.TAIL_LINES, "line 49")


def test_a_log_that_went_to_the_terminal_is_not_shown_again() -> None:
    assert (worker_log.error(None, ""), worker_log.tail(None)) == ("", [])


def test_the_tail_of_a_log_begins_with_a_whole_character() -> None:
    with tempfile.TemporaryFile() as log:
        log.write("x{}y\n".format("😀" * worker_log.TAIL_BYTES).encode())
        log.flush()
        (line,) = worker_log.tail(log)
    assert set(line) == {"😀", "…"}
