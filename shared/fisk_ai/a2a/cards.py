"""An agent's card: built and checked once, when it starts; a bad one keeps it from starting."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import urlsplit

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import (
    NAMESPACE,
    DiscoveryReply,
    DiscoveryRequest,
    Sender,
    ToolDescriptor,
    reply_header,
    request_header,
)
from fisk_ai.config import Config
from fisk_ai.errors import ConfigError, ProtocolError

NAME_BYTES = 128
ICON_BYTES = 16
ICON_URL_BYTES = 512
PROMPTS = 8
PROMPT_CHARACTERS = 256


class Card(TypedDict):
    """The fields of a discovery reply beside its header, to be spread into one."""

    name: str
    version: str
    description: str
    model: str
    protocols: tuple[str, ...]
    tools: tuple[ToolDescriptor, ...]
    display_name: str
    icon: str
    icon_url: str
    prompts: tuple[str, ...]
    notes: tuple[str, ...]


def build_card(
    config: Config,
    *,
    tools: tuple[ToolDescriptor, ...] = (),
    notes: tuple[str, ...] = (),
    version: str = "",
    answers_prompts: bool = True,
) -> Card:
    """Return the card of the agent that ``config`` describes.

    An agent that answers no prompts names no model. ``notes`` are sentences for people beside the
    description. The telemetry fields stay away, as nothing is exported.

    Raises:
        ConfigError: a field over its limit, or one that no card can carry.
    """
    card: Card = {
        "name": config.identity,
        "version": version or "dev",
        "description": config.description,
        "model": config.llm.model if answers_prompts else "",
        "protocols": (NAMESPACE,),
        "tools": tools,
        "display_name": config.display_name,
        "icon": config.icon,
        "icon_url": config.icon_url,
        "prompts": tuple(config.prompts),
        "notes": notes,
    }
    _check(card)
    return card


def _check(card: Card) -> None:
    _bound("display_name", card["display_name"], NAME_BYTES)
    _bound("icon", card["icon"], ICON_BYTES)
    _bound("icon_url", card["icon_url"], ICON_URL_BYTES)
    if card["icon_url"] and not _is_https_with_host(card["icon_url"]):
        raise ConfigError(
            "icon_url must be an https address with a host; mend it or leave it out", key="icon_url"
        )
    if len(card["prompts"]) > PROMPTS:
        raise ConfigError(f"prompts takes at most {PROMPTS} entries", key="prompts")
    if any(len(prompt) > PROMPT_CHARACTERS for prompt in card["prompts"]):
        raise ConfigError(
            f"an entry of prompts has at most {PROMPT_CHARACTERS} characters", key="prompts"
        )
    probe = DiscoveryRequest(**request_header(Sender(name="card"), card["name"]))
    try:
        codec.encode(DiscoveryReply(**reply_header(probe, card["name"]), **card))
    except ProtocolError as exc:
        raise ConfigError(f"this configuration makes no valid agent card: {exc}") from exc


def _bound(key: str, text: str, limit_bytes: int) -> None:
    if len(text.encode(errors="replace")) > limit_bytes:
        raise ConfigError(f"{key} is over {limit_bytes} bytes; shorten it", key=key)


def _is_https_with_host(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False  # the parser below would drop what a reader's might not
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        return False
