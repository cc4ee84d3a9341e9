"""Creation of a proposer: errors are raised before a request is sent."""

from __future__ import annotations

import builtins
import sys

import pytest

from agent_steel.models.providers import NAMES, create, create_model
from agent_steel.proposal import ProposerError


def test_names_lists_all_providers():
    assert NAMES == ("openai", "anthropic", "openrouter", "deepseek", "ollama", "vllm")


def test_an_unknown_provider_is_reported_with_a_suggestion():
    with pytest.raises(ProposerError, match="did you mean 'anthropic'"):
        create("antropic")


@pytest.mark.parametrize("provider", ["openrouter", "deepseek", "ollama", "vllm"])
def test_a_provider_without_a_default_needs_a_model(provider):
    with pytest.raises(ProposerError, match=rf"\[{provider}\] no model: name one with --model"):
        create(provider)


def test_a_default_model_has_a_price(api):
    # Else --max-cost would refuse what the user has not even chosen.
    assert create(api, max_cost=1.0).model


def test_a_limit_needs_a_price(api, prices):
    with pytest.raises(
        ProposerError, match=r"--max-cost 2: no price of new-model is known.*--prices"
    ):
        create(api, model="new-model", prices=prices, max_cost=2.0)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http:///v1"])
def test_create_refuses_an_invalid_address(api, url):
    with pytest.raises(ProposerError, match="--base-url: expected http"):
        create(api, base_url=url)


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan")])
def test_create_refuses_an_invalid_limit(api, cost):
    with pytest.raises(ProposerError, match="--max-cost: expected more than 0"):
        create(api, max_cost=cost)


def test_a_missing_library_is_reported_with_its_package(api, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == api:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    monkeypatch.setitem(sys.modules, api, None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ProposerError, match=r"pip install 'metalbench\[agent\]'"):
        create(api)


def test_two_can_share_a_ledger(api, prices):
    one = create_model(api, model="scripted", prices=prices, max_cost=1.0)
    two = create_model(api, model="scripted", ledger=one.ledger)
    assert one.ledger is two.ledger
