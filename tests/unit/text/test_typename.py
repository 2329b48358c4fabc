from __future__ import annotations

import pytest

from fisk_ai.text.typename import a_type


@pytest.mark.parametrize(
    ("value", "told"),
    [(1, "an int"), ("", "a str"), (None, "a NoneType"), (OSError(), "an OSError"), ({}, "a dict")],
)
def test_a_type_has_the_article_it_is_spoken_with(value: object, told: str) -> None:
    assert a_type(value) == told
