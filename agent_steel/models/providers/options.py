"""Options of the command line about models, for every command that asks one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from agent_steel.models.providers.presets import NAMES

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
GIVEN = ("model", "base_url", "max_cost", "max_tokens", "prices", "prompts", "structured")

_OPTIONS = (
    click.option("--model", help="Name of the model; else the provider's default, if it has one."),
    click.option("--base-url", metavar="URL", help="Where the API is, if not at the usual place."),
    click.option("--max-cost", type=float, metavar="USD", help="Most US dollars to spend."),
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
    from agent_steel.models.providers.limits import Limits

    limits = Limits(answer_s=options["answer_seconds"])
    return {**{name: options[name] for name in GIVEN if name in options}, "limits": limits}
