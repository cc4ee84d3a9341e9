"""``agent_steel weld``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_steel.models.providers.presets import collect_options, model_options, provider_option
from metalbench.cli.options import device_option
from metalbench.report.console import echo
from metalbench.safe_text import json_text

if TYPE_CHECKING:
    from agent_steel.proposal import Usage
    from agent_steel.welding.contribution import Agree
    from agent_steel.welding.weld import WeldResult

EXAMPLES = """\b
Examples:
  agent_steel weld -d "softplus, elementwise" --provider anthropic
  agent_steel weld -d "RMS norm of rows" --reference mine.py:rms_norm --into kernels --set standard
"""


@click.command("weld", epilog=EXAMPLES, short_help="A new task and kernel from a description.")
@click.option("-d", "--description", required=True, help="What is to be computed.")
@click.option(
    "--reference",
    metavar="FILE[:FUNCTION]",
    help="Python of your own that says what is right: a function in NumPy or MLX, or a task.",
)
@click.option("--name", default="", help="Name of the task; else the model chooses.")
@click.option("--set", "set_name", default="user", show_default=True, help="Set of the task.")
@click.option(
    "--into",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("my_kernels"),
    show_default=True,
    metavar="DIR",
    help="Folder in which the set is; made if there is none.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@provider_option(required=True)
@model_options
@click.option("--rounds", type=int, default=4, show_default=True, help="Most drafts to check.")
@click.option(
    "--polish/--no-polish", default=True, show_default=True, help="Improve comments and names."
)
@click.option("--measure/--no-measure", default=True, show_default=True, help="Time it at the end.")
@click.option(
    "--check-seconds",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Longest time for checking one draft.",
)
@click.option("--yes", is_flag=True, help="Agree to running the Python that the model writes.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@device_option
def welder_command(**options: Any) -> None:
    """Have a model write a task and its kernel, and check both.

    You see the task's Python before any of it runs, in a process without network. Files are
    written only when every check has passed.
    """
    from agent_steel.device_lock import DeviceLock
    from agent_steel.models.providers import create_model
    from agent_steel.welding.contribution import Destination, Order
    from agent_steel.welding.weld import weld
    from metalbench import _core
    from metalbench.run.trial import device_facts
    from metalbench.sandbox.resources import Limits
    from metalbench.store.database import store_path

    path, _, function = (options["reference"] or "").rpartition(":")
    if options["reference"] and not path:
        path, function = function, ""
    device = device_facts(_core.open(options["device"]))
    model = create_model(options["provider"], **collect_options(options))
    welded = weld(
        model,
        Order(
            description=options["description"],
            destination=Destination(options["folder"], options["set_name"], options["force"]),
            name=options["name"],
            reference=Path(path) if path else None,
            function=function,
            rounds=options["rounds"],
            polish=options["polish"],
        ),
        agree=_agree(yes=options["yes"]),
        say=lambda text: echo(text, err=True),
        device=options["device"],
        limits=Limits(options["check_seconds"]),
        measure=options["measure"],
        alone=DeviceLock.of(device, store_path(None).parent).hold(),
    )
    echo(_as_json(welded) if options["output"] == "json" else _as_text(welded))


def _agree(*, yes: bool) -> Agree:
    def agree(name: str, text: str) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            echo("no terminal to confirm the model's Python; --yes confirms it", err=True)
            return False
        echo(f"\n--- {name} ---\n{text.rstrip()}\n---\n", err=True)
        return click.confirm(
            "Run this Python in a process without network? It can read and write your files",
            err=True,
        )

    return agree


def _as_text(welded: WeldResult) -> str:
    written = "\n".join(f"{path}" for path in welded.paths)
    polished = ", polished" if welded.is_polished else ""
    rounds = f"{welded.rounds} draft{'s' if welded.rounds > 1 else ''}"
    return f"{welded.contribution}\n{written}\n{rounds}{polished}; {_format_cost(welded.usage)}"


def _format_cost(usage: Usage) -> str:
    cost = "at a price that is not known" if usage.cost is None else f"{usage.cost:.4f} US dollars"
    return f"{usage.requests} requests, {usage.tokens_in} + {usage.tokens_out} tokens, {cost}"


def _as_json(welded: WeldResult) -> str:
    usage = welded.usage
    return json_text(
        {
            "name": welded.name,
            "files": [str(path) for path in welded.paths],
            "rounds": welded.rounds,
            "polished": welded.is_polished,
            "checks": list(welded.checks),
            "usage": {
                "requests": usage.requests,
                "tokens_in": usage.tokens_in,
                "tokens_out": usage.tokens_out,
                "cost": usage.cost,
            },
            "contribution": welded.contribution,
        },
        indent=2,
    )
