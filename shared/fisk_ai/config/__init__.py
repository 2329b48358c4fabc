"""Leaf: ``agent.yaml``, read strictly, prepared once, validated for what a process will do."""

from fisk_ai.config.block import ToolFilter
from fisk_ai.config.duration import parse_duration
from fisk_ai.config.endpoints import Broker, require_endpoint
from fisk_ai.config.expose import A2A, Prompts
from fisk_ai.config.loader import load, loads
from fisk_ai.config.model import Config
from fisk_ai.config.prepare import prepare
from fisk_ai.config.validate import Mode

__all__ = [
    "A2A",
    "Broker",
    "Config",
    "Mode",
    "Prompts",
    "ToolFilter",
    "load",
    "loads",
    "parse_duration",
    "prepare",
    "require_endpoint",
]
