"""Providers are found by name, and all their secrets are known whoever is in use."""

from __future__ import annotations

import subprocess
import sys
from typing import cast

import pytest

import fisk_ai.llm.builtin  # noqa: F401 # pyright: ignore[reportUnusedImport] - registers
from fisk_ai.errors import ConfigError
from fisk_ai.llm import provider
from fisk_ai.llm.provider import Capabilities, Provider, ProviderConfig, output_cap


def no_provider(_: ProviderConfig) -> Provider:
    raise AssertionError("nobody asked for it")


def test_the_providers_of_the_project_are_registered() -> None:
    assert provider.names() == ["anthropic", "scripted"]
    assert provider.declares_credentials("anthropic")
    assert not provider.declares_credentials("scripted")


def test_the_secrets_of_every_provider_are_named_sorted_and_once() -> None:
    assert provider.credential_env_names() == [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_IDENTITY_TOKEN",
        "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    ]


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as refused:
        provider.new("openai", ProviderConfig())
    assert str(refused.value) == (
        'unknown llm provider "openai": known providers are [anthropic scripted]'
    )
    assert refused.value.key == "llm.provider"


@pytest.mark.parametrize("name", ["", "scripted"])
def test_an_empty_or_taken_name_is_a_mistake_found_at_import(name: str) -> None:
    with pytest.raises(ValueError, match="provider"):
        provider.register(name, no_provider, ())


def test_a_provider_that_cannot_be_built_is_a_mistake_found_at_import() -> None:
    with pytest.raises(ValueError, match="provider 'mine' has no factory"):
        provider.register("mine", cast("provider.ProviderFactory", None), ())
    assert "mine" not in provider.names()


def test_what_a_provider_can_do_is_known_before_it_is_built() -> None:
    declared = {name: provider.capabilities(name) for name in provider.names()}
    assert {name: can and can.supports_tool_search for name, can in declared.items()} == {
        "anthropic": True,
        "scripted": False,
    }
    assert provider.capabilities("openai") is None


def test_registering_imports_no_sdk() -> None:
    code = (
        "import sys, fisk_ai.llm.builtin\n"
        "print(sorted({'anthropic', 'httpx2', 're2', 'yaml', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_sdk_is_imported_in_a_thread_while_a_process_starts() -> None:
    code = """
import sys, threading
import fisk_ai.llm.builtin
from fisk_ai.llm import provider

seen = {}

class Notes:
    def find_spec(self, name, path=None, target=None):
        if name in ("anthropic", "httpx2"):
            seen[name] = threading.current_thread() is not threading.main_thread()

sys.meta_path.insert(0, Notes())
model = provider.new("anthropic", provider.ProviderConfig(api_key="any"))
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
print(sorted(seen.items()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[('anthropic', True), ('httpx2', True)]\n"


@pytest.mark.parametrize(
    ("wanted", "declared", "asked"), [(8192, 0, 8192), (8192, 4096, 4096), (100, 4096, 100)]
)
def test_a_declared_output_limit_lowers_what_a_run_asks_for(
    wanted: int, declared: int, asked: int
) -> None:
    declares = Capabilities("p", "p", max_output_tokens=declared)
    assert output_cap(wanted, declares) == asked
