"""Interrupts that wait for the end of a moment."""

from __future__ import annotations

import signal

import pytest

from fisk_ai.cli.undisturbed import undisturbed


def test_an_interrupt_comes_behind_what_it_would_have_cut_in_two() -> None:
    done: list[str] = []

    def moment() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        moment()
    assert done


def test_signals_have_their_old_effect_afterwards_and_an_ignored_one_has_none_inside() -> None:
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with undisturbed():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, hang_up)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_not_lost_where_the_moment_fails() -> None:
    def moment() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("the moment failed")

    with pytest.raises(KeyboardInterrupt):
        moment()
