"""An agent's card is right from the start, or there is no start."""

from __future__ import annotations

import pytest

from fisk_ai.a2a.cards import build_card
from fisk_ai.a2a.messages import NAMESPACE
from fisk_ai.config import Config
from fisk_ai.errors import ConfigError


def config(**fields: object) -> Config:
    given = {"identity": "billing", "system_prompt": "s", "llm": {"model": "m"}, **fields}
    return Config.model_validate(given)


def test_a_card_names_the_agent_its_protocol_and_its_model() -> None:
    card = build_card(config(description="d", prompts=["try me"]))
    assert (card["name"], card["version"], card["model"]) == ("billing", "dev", "m")
    assert card["protocols"] == (NAMESPACE,)
    assert (card["description"], card["prompts"]) == ("d", ("try me",))


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"display_name": "é" * 65}, "display_name"),
        ({"icon": "x" * 17}, "icon"),
        ({"icon_url": "https://" + "x" * 512}, "icon_url"),
        ({"icon_url": "http://example.org/x.png"}, "icon_url"),
        ({"icon_url": "https://"}, "icon_url"),
        ({"icon_url": "https:///x.png"}, "icon_url"),
        ({"icon_url": "https://:443/x.png"}, "icon_url"),
        ({"icon_url": "https://[::1/x.png"}, "icon_url"),
        ({"icon_url": "https://example.org/a b.png"}, "icon_url"),
        ({"icon_url": "https://exam\nple.org/x.png"}, "icon_url"),
        ({"prompts": ["p"] * 9}, "prompts"),
        ({"prompts": ["p" * 257]}, "prompts"),
    ],
)
def test_a_card_field_over_its_limit_is_refused_by_its_key(
    fields: dict[str, object], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_card(config(**fields))
    assert caught.value.key == key


def test_a_card_at_its_limits_is_taken() -> None:
    url = "https://example.org/".ljust(512, "x")
    card = build_card(
        config(display_name="é" * 64, icon="x" * 16, icon_url=url, prompts=["é" * 256] * 8),
        notes=("ask for a ticket first",),
    )
    assert (card["icon_url"], card["notes"]) == (url, ("ask for a ticket first",))
    assert (len(card["prompts"]), card["display_name"]) == (8, "é" * 64)


def test_a_card_that_no_reader_could_take_is_refused() -> None:
    with pytest.raises(ConfigError, match="no valid agent card"):
        build_card(config(llm={"model": "m" * 129}))
