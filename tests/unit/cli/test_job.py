"""``fisk-ai job``: what is refused before any broker is asked."""

from __future__ import annotations

import pytest

from fisk_ai.cli.main import main

UNREACHED = "--nats-context=nowhere"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["submit", "x", "--queue", "a b"], "--queue takes at most 128 letters"),
        (["submit", "x", "--id", "a.b"], "--id takes at most 128 letters"),
        (["submit", "x", "--caller", "a b"], "a caller's name is made of letters"),
        (["submit", " "], "a job needs a prompt that is not blank"),
        (["submit", "x", "--deadline", "soon"], "--deadline takes a duration such as 1h"),
        (["submit", "x", "--deadline", "-1h"], "--deadline takes a duration"),
        (["submit", "x", "--tries", "-1"], "--tries takes a whole number"),
        (["submit", "x", "--max-tokens", "0"], "--max-tokens takes a whole number"),
        (["ls", "--state", "odd"], "--state takes one of new, active"),
        (["ls", "--limit", "0"], "--limit takes a whole number"),
        (["show", "a"], "nowhere"),
        (["watch", "a"], "nowhere"),
        (["retry", "a"], "nowhere"),
    ],
)
def test_what_cannot_be_meant_or_reached_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["job", *words, UNREACHED]) == 1
    out, err = capsys.readouterr()
    assert (out, said in err, len(err.splitlines())) == ("", True, 1)


def test_the_verbs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in ("submit", "show", "ls", "watch", "retry"))
    assert main(["job", "odd"]) == 1
    assert "'odd' is not one of them" in capsys.readouterr().err
