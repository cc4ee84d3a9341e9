"""Proposers that ask a language model, by the APIs that providers have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from agent_steel.models import ledger as price_table
from agent_steel.models.ledger import Ledger, Prices
from agent_steel.models.prompts import Prompts
from agent_steel.models.providers.api import RequestLimits, Retries
from agent_steel.models.providers.presets import NAMES, PRESETS, Preset, Structured, without_key
from agent_steel.proposal import ProposerError
from metalbench.errors import suggestion

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agent_steel.models.providers.api import Api
    from agent_steel.models.providers.model import Model, ModelProposer
    from agent_steel.proposal import Usage

__all__ = ["NAMES", "Options", "RequestLimits", "Retries", "create", "create_model"]

MAX_TOKENS = 32_000


class Options(TypedDict, total=False):
    """Options of requests to a model.

    model
        Its name at the provider; None takes the provider's default, where it has one.
    base_url
        Where the API is, if not where the provider's usually is.
    max_cost
        The most US dollars that all requests together may cost; None means unlimited.
    token_budget
        The most tokens of all requests together, in and out; None means unlimited.
    max_requests
        The most requests, corrections and retries included; None means unlimited.
    spent
        What an interrupted session has used before; the limits hold for all of it.
    prices, prompts
        A table of prices and a folder of prompts to take instead of the packaged ones.
    max_tokens
        The most tokens of one answer, those that a model thinks with included.
    structured
        How the form of answers is asked for: by a JSON schema, as a JSON object, or in the prompt.
    ledger
        Where costs are counted, if that is to be shared; it has its own limit and prices.
    limits, retries
        How long an answer may take, and how often to ask again.
    """

    model: str | None
    base_url: str | None
    max_cost: float | None
    token_budget: int | None
    max_requests: int | None
    spent: Usage | None
    prices: Path | None
    prompts: Path | None
    max_tokens: int
    structured: Structured | None
    ledger: Ledger | None
    limits: RequestLimits | None
    retries: Retries | None


def create(provider: str, **options: Unpack[Options]) -> ModelProposer:
    """Make the proposer that asks a model of `provider`, one of NAMES; see `Options`.

    Raise ProposerError for an unknown provider, a missing key, model, price or client library.
    """
    from agent_steel.models.providers.model import ModelProposer

    return ModelProposer(create_model(provider, **options))


def create_model(provider: str, **options: Unpack[Options]) -> Model:
    """Make the model itself, to be asked for anything; otherwise as `create`."""
    from agent_steel.models.providers.model import Model

    if provider not in PRESETS:
        raise ProposerError(f"--provider {provider!r}: {suggestion(provider, NAMES)}")
    preset = PRESETS[provider]
    name = options.get("model") or preset.default_model
    if not name:
        raise ProposerError(f"[{provider}] no model: name one with --model")
    max_tokens = options.get("max_tokens", MAX_TOKENS)
    if max_tokens < 1:
        raise ProposerError(f"--max-tokens: expected 1 or more, got {max_tokens}")
    ledger = options.get("ledger") or Ledger(
        _prices(preset, options.get("prices")),
        options.get("max_cost"),
        options.get("token_budget"),
        max_requests=options.get("max_requests"),
        spent=options.get("spent"),
    )
    ledger.check(name)
    url = _check(options.get("base_url") or preset.base_url)
    structured = options.get("structured") or preset.structured
    return Model(
        provider=provider,
        name=name,
        api=_api(preset, url, name, structured, options.get("limits") or RequestLimits()),
        ledger=ledger,
        prompts=Prompts(options.get("prompts")),
        retries=options.get("retries") or Retries(),
        max_tokens=max_tokens,
        without_key=lambda text: without_key(text, preset),
    )


def _prices(preset: Preset, path: Path | None) -> Prices:
    """Return a server of one's own costs nothing, unless a table says otherwise."""
    if not preset.needs_key and path is None:
        return Prices(free=True)
    return price_table.read(path)


def _check(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProposerError(f"--base-url: expected http(s)://HOST/..., got {base_url!r}")
    if parts.username or parts.password:
        raise ProposerError(
            "--base-url: expected no user or password in it; a key comes from the environment"
        )
    return base_url


def _api(
    preset: Preset, url: str, model: str, structured: Structured, limits: RequestLimits
) -> Api:
    if preset.api == "anthropic":
        from agent_steel.models.providers.anthropic_api import AnthropicApi

        return AnthropicApi(preset, url, model, structured, limits)
    from agent_steel.models.providers.openai_api import OpenAIApi

    return OpenAIApi(preset, url, model, structured, limits)
