"""Proposers that ask a language model, by the APIs that providers have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_steel import prices as price_table
from agent_steel.ledger import Ledger
from agent_steel.prices import Prices
from agent_steel.prompts import Prompts
from agent_steel.proposal import ProposerError
from agent_steel.providers.keys import without_key
from agent_steel.providers.limits import Limits
from agent_steel.providers.presets import NAMES, PRESETS, Preset, Structured
from agent_steel.providers.retries import Retries
from metalbench.errors import suggestion

if TYPE_CHECKING:
    from agent_steel.providers.api import Api
    from agent_steel.providers.model import Model
    from agent_steel.providers.proposer import ModelProposer

__all__ = ["NAMES", "Limits", "Retries", "create", "create_model"]


def create(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    max_cost: float | None = None,
    prices: Path | None = None,
    prompts: Path | None = None,
    max_tokens: int = 32_000,
    structured: Structured | None = None,
    ledger: Ledger | None = None,
    limits: Limits | None = None,
    retries: Retries | None = None,
) -> ModelProposer:
    """Make the proposer that asks `model` of `provider`, one of NAMES.

    Parameters
    ----------
    model
        Its name at the provider; None takes the provider's default, where it has one.
    base_url
        Where the API is, if not where the provider's usually is.
    max_cost
        The most US dollars that all requests together may cost; None is no limit.
    prices, prompts
        A table of prices and a folder of prompts to take instead of the packaged ones.
    max_tokens
        The most tokens of one answer, those that a model thinks with included.
    structured
        How the form of answers is asked for: by a JSON schema, as a JSON object, or in the prompt.
    ledger
        Where costs are counted, if that is to be shared; `max_cost` and `prices` are its own then.
    limits, retries
        How long an answer may take, and how often to ask again.

    Raises
    ------
    ProposerError
        For an unknown provider, a missing key, model, price or client library.
    """
    from agent_steel.providers.proposer import ModelProposer

    return ModelProposer(
        create_model(
            provider,
            model=model,
            base_url=base_url,
            max_cost=max_cost,
            prices=prices,
            prompts=prompts,
            max_tokens=max_tokens,
            structured=structured,
            ledger=ledger,
            limits=limits,
            retries=retries,
        )
    )


def create_model(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    max_cost: float | None = None,
    prices: Path | None = None,
    prompts: Path | None = None,
    max_tokens: int = 32_000,
    structured: Structured | None = None,
    ledger: Ledger | None = None,
    limits: Limits | None = None,
    retries: Retries | None = None,
) -> Model:
    """Make the model itself, to be asked for anything; everything is as for `create`."""
    from agent_steel.providers.model import Model

    if provider not in PRESETS:
        raise ProposerError(f"--provider {provider!r}: {suggestion(provider, NAMES)}")
    preset = PRESETS[provider]
    name = model or preset.default_model
    if not name:
        raise ProposerError(f"[{provider}] no model: name one with --model")
    if max_tokens < 1:
        raise ProposerError(f"--max-tokens: expected 1 or more, got {max_tokens}")
    ledger = ledger or Ledger(_prices(preset, prices), max_cost)
    ledger.check(name)
    url = _checked(base_url or preset.base_url)
    return Model(
        provider=provider,
        name=name,
        api=_api(preset, url, name, structured or preset.structured, limits or Limits()),
        ledger=ledger,
        prompts=Prompts(prompts),
        retries=retries or Retries(),
        max_tokens=max_tokens,
        without_key=lambda text: without_key(text, preset),
    )


def _prices(preset: Preset, path: Path | None) -> Prices:
    """A server of one's own costs nothing, unless a table says otherwise."""
    if not preset.needs_key and path is None:
        return Prices(free=True)
    return price_table.read(path)


def _checked(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProposerError(f"--base-url: expected http(s)://HOST/..., got {base_url!r}")
    if parts.username or parts.password:
        raise ProposerError(
            "--base-url: expected no user or password in it; a key comes from the environment"
        )
    return base_url


def _api(preset: Preset, url: str, model: str, structured: Structured, limits: Limits) -> Api:
    if preset.api == "anthropic":
        from agent_steel.providers.anthropic_api import AnthropicApi

        return AnthropicApi(preset, url, model, structured, limits)
    from agent_steel.providers.openai_api import OpenAIApi

    return OpenAIApi(preset, url, model, structured, limits)
