"""``agent_steel weld``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
  agent_steel weld my_model.py                         a PyTorch module, as KernelBench's files
  agent_steel weld layers.py:Block --input 16x256      another class, with an example input
  agent_steel weld ops.py:softplus --input 1024x1024   an MLX function
  agent_steel weld program.mlir --into kernels         a StableHLO program
  agent_steel weld -d "softplus, elementwise" --provider anthropic
  agent_steel weld -d "RMS norm of rows" --reference mine.py:rms_norm --into kernels --set standard
"""


@click.command("weld", epilog=EXAMPLES, short_help="A new task from a program or a sentence.")
@click.argument("source", required=False)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[NAME=]SHAPE[:TYPE]",
    help="An example argument of SOURCE, such as 16x128 or ids=64:int32; repeat it in order.",
)
@click.option("-d", "--description", default="", help="What a model is to write a task for.")
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
@provider_option()
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
    """Make a task from SOURCE without a model, or from a description with one.

    SOURCE is a PyTorch module (FILE.py or FILE.py:CLASS), an MLX function (FILE.py:FUNCTION) or a
    StableHLO program (FILE.mlir). The program is the reference and, in float64, the oracle. Sizes
    and inputs are found by trial from example inputs: those of get_inputs() in the file, or of
    --input. A Python file runs as you, now and whenever the task is used.

    With --description a model writes the task and its kernel. You see the task's Python before any
    of it runs.

    The checks run in a process without network. Files are written only when every check has passed.
    """
    if options["source"]:
        _weld_source(options)
    elif options["inputs"]:
        raise click.UsageError("--input: expected SOURCE, whose arguments it describes; got none")
    else:
        _weld_description(options)


def _weld_source(options: Mapping[str, Any]) -> None:
    from agent_steel.welding.contribution import Destination
    from agent_steel.welding.sources import parse_input, read_source
    from agent_steel.welding.weld import weld_source
    from metalbench.sandbox.resources import Limits

    for name in ("description", "reference", "provider"):
        if options[name]:
            raise click.UsageError(
                f"--{name}: SOURCE says what is computed, and no model is asked; leave one out"
            )
    source = read_source(options["source"], [parse_input(each) for each in options["inputs"]])
    welded = weld_source(
        source,
        Destination(options["folder"], options["set_name"], options["force"]),
        say=_say,
        name=options["name"],
        device=options["device"],
        limits=Limits(options["check_seconds"]),
    )
    is_json = options["output"] == "json"
    echo(_as_json(welded) if is_json else _as_text(welded, options["folder"]))


def _say(text: str) -> None:
    echo(f"Welder: {text}", err=True)


def _weld_description(options: Mapping[str, Any]) -> None:
    """Have a model write a task and its kernel."""
    from agent_steel.device_lock import DeviceLock
    from agent_steel.models.providers import create_model
    from agent_steel.welding.contribution import Destination, Order
    from agent_steel.welding.weld import weld
    from metalbench import _core
    from metalbench.run.trial import device_facts
    from metalbench.sandbox.resources import Limits
    from metalbench.store.database import store_path

    if not options["description"]:
        raise click.UsageError(
            "expected SOURCE (FILE.py, FILE.py:NAME or FILE.mlir), or --description with "
            "--provider; got neither"
        )
    if not options["provider"]:
        raise click.UsageError(
            "--description needs --provider: a model writes the task. A PyTorch module, an MLX "
            "function or a StableHLO program as SOURCE needs none"
        )
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
        say=_say,
        device=options["device"],
        limits=Limits(options["check_seconds"]),
        measure=options["measure"],
        alone=DeviceLock.of(device, store_path(None).parent).hold(),
    )
    is_json = options["output"] == "json"
    echo(_as_json(welded) if is_json else _as_text(welded, options["folder"]))


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


def _as_text(welded: WeldResult, folder: Path) -> str:
    written = "\n".join(f"{path}" for path in welded.paths)
    if not welded.rounds:
        kernel = welded.paths[0].with_suffix(".metal")
        return (
            f"{welded.contribution}\n{written}\n"
            f"Write {kernel}, then: metalbench run {welded.name} --kernels {folder}"
        )
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
