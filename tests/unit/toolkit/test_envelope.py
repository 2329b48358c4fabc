"""The text a model reads of a command's result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.contract import CommandExec


def test_an_envelope_is_compact_in_fixed_order_and_silent_about_whole_output() -> None:
    text = envelope.render(CommandExec(command="ship list", exit_code=0), "a\nb")
    assert text == '{"command":"ship list","exit_code":0,"output":"a\\nb"}'


def test_truncated_output_says_so_and_markup_is_escaped() -> None:
    text = envelope.render(CommandExec(command="x", exit_code=-1, truncated=True), "<a&b>\u2028")
    assert text == (
        '{"command":"x","exit_code":-1,"output":"\\u003ca\\u0026b\\u003e\\u2028","truncated":true}'
    )


@given(st.text(), st.text(), st.integers(-1, 255), st.booleans())
def test_what_was_written_is_read_back(
    command: str,
    output: str,
    exit_code: int,
    truncated: bool,  # noqa: FBT001 - drawn
) -> None:
    execution = CommandExec(command=command, exit_code=exit_code, truncated=truncated)
    read = envelope.parse(envelope.render(execution, output))
    assert read is not None
    assert (read.command, read.exit_code, read.truncated) == (command, exit_code, truncated)
    assert read.output == output


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "{}",
        "[1]",
        '{"command":"x","exit_code":"0","output":""}',
        '{"command":"x","exit_code":0,"output":"","more":1}',
        '{"found":true}',
        "\ud800",
        "[" * 100_000,
    ],
)
def test_any_other_text_is_no_envelope(text: str) -> None:
    assert envelope.parse(text) is None
