"""The providers: where each is, what its key is called, and what it understands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from agent_steel.proposal import ProposerError

Structured = Literal["schema", "object", "text"]


@dataclass(frozen=True)
class Preset:
    """A provider. `api` says which protocol it speaks.

    `key_variable` is the environment variable with its key; `needs_key` is false of servers of
    one's own, which also cost nothing. `structured` is how it can be held to a form: by a JSON
    schema, to any JSON object, or by the prompt alone. `limit` is what it calls the most tokens
    of an answer. `key_path` has the facts of a key, where the list of models needs none.
    """

    name: str
    api: Literal["openai", "anthropic"]
    base_url: str
    key_variable: str
    default_model: str = ""
    needs_key: bool = True
    structured: Structured = "schema"
    limit: str = "max_tokens"
    key_path: str = ""


_ALL = (
    Preset(
        "openai",
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        default_model="gpt-6.2-sol",
        limit="max_completion_tokens",
    ),
    Preset(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
    ),
    Preset(
        "openrouter",
        "openai",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        key_path="/key",
    ),
    Preset(
        "deepseek",
        "openai",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        structured="object",
    ),
    Preset("ollama", "openai", "http://localhost:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    Preset("vllm", "openai", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
)
PRESETS = {each.name: each for each in _ALL}
NAMES = tuple(PRESETS)


# Options of the command line about models, for every command that asks one.

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
GIVEN = (
    *("model", "base_url", "max_cost", "token_budget", "max_requests", "max_tokens"),
    *("prices", "prompts", "structured"),
)

_OPTIONS = (
    click.option("--model", help="Name of the model; else the provider's default, if it has one."),
    click.option("--base-url", metavar="URL", help="Where the API is, if not at the usual place."),
    click.option("--max-cost", type=float, metavar="USD", help="Most US dollars to spend."),
    click.option(
        "--token-budget",
        type=click.IntRange(min=1),
        metavar="N",
        help="Most tokens of all requests together, in and out.",
    ),
    click.option(
        "--max-requests",
        type=click.IntRange(min=1),
        metavar="N",
        help="Most requests, corrections and retries included.",
    ),
    click.option(
        "--max-tokens",
        type=int,
        default=32_000,
        show_default=True,
        metavar="N",
        help="Most tokens of one answer, with those that a model thinks with.",
    ),
    click.option("--prices", type=FILE, metavar="FILE", help="Table of prices, for the packaged."),
    click.option(
        "--prompts", type=FOLDER, metavar="DIR", help="Prompts that replace packaged ones."
    ),
    click.option(
        "--answer-seconds",
        type=click.FloatRange(min=1),
        default=900.0,
        show_default=True,
        help="Longest time for one answer.",
    ),
)
_STRUCTURED = click.option(
    "--structured",
    type=click.Choice(["schema", "object", "text"]),
    help="How the form of answers is asked for, if not as the provider does it best.",
)


def provider_option(*others: str, **more: Any) -> Callable[[Command], Command]:
    """``--provider``: one of NAMES, or of `others`."""
    choice = click.Choice([*others, *NAMES])
    return click.option("--provider", type=choice, help="Whose model to ask.", **more)


def model_options(command: Command) -> Command:
    """``--model``, ``--base-url``, ``--max-cost`` and the like."""
    return free_model_options(_STRUCTURED(command))


def free_model_options(command: Command) -> Command:
    """Return all of `model_options` but ``--structured``, for answers that have no form."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def collect_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `create` and `create_model` from the options of a command."""
    from agent_steel.models.providers.api import RequestLimits

    limits = RequestLimits(answer_s=options["answer_seconds"])
    return {**{name: options[name] for name in GIVEN if name in options}, "limits": limits}


# API keys: read from the environment when needed, and removed from all messages.

# Official clients insist on a key also where the server does not.
NO_KEY = "none"


def key_of(preset: Preset) -> str:
    """Return the key in the environment. Raise ProposerError if it is missing and needed."""
    key = os.environ.get(preset.key_variable, "").strip()
    if key:
        return key
    if preset.needs_key:
        raise ProposerError(
            f"[{preset.name}] no key: set {preset.key_variable} in the environment, or choose "
            "another --provider"
        )
    return NO_KEY


def without_key(text: str, preset: Preset) -> str:
    """`text` with the provider's key taken out, wherever it came from."""
    key = os.environ.get(preset.key_variable, "").strip()
    return text.replace(key, f"[{preset.key_variable}]") if key else text
