from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text.scrub import Scrub

SECRET = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1)


@given(st.lists(SECRET, min_size=1, max_size=3), st.text(), st.text())
def test_no_secret_comes_through(secrets: list[str], before: str, behind: str) -> None:
    hidden = Scrub(*secrets).hide(f"{before}<{secrets[-1]}>{behind}")
    assert secrets[-1] not in hidden.replace("***", "")


@pytest.mark.parametrize(
    ("secrets", "hidden"),
    [
        (("Bearer abc.def", "abc.def"), "it was ***, and ***!"),
        (("abc.def",), "it was Bearer ***, and ***!"),
        (("", " "), "it was Bearer abc.def, and abc .def!"),
        ((), "it was Bearer abc.def, and abc .def!"),
    ],
)
def test_the_longest_secret_goes_first_and_blanks_hide_none(
    secrets: tuple[str, ...], hidden: str
) -> None:
    assert Scrub(*secrets).hide("it was Bearer abc.def, and abc .def!") == hidden
