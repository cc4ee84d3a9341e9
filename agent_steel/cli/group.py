"""The options of the loop, and the commands that look at what it has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agent_steel.cli.history import (
    TARGETS,
    diff,
    export,
    export_session_command,
    history,
    log,
    objectives_option,
    plot,
    show,
)
from agent_steel.cli.model import OF_THE_LOOP, model_command
from agent_steel.models.providers.presets import model_options, provider_option
from agent_steel.proposers import TUNER
from agent_steel.welding.command import welder_command
from metalbench.cli.group import ErrorsAreMessages
from metalbench.cli.machine import on_options
from metalbench.cli.options import (
    complete_names,
    dtype_option,
    kernel_options,
    limit_options,
    seed_option,
    time_option,
)
from metalbench.cli.run import SUFFIX
from metalbench.report.console import echo

EPILOG = """\b
Examples:
  agent_steel --kernel-name relu --loop --max-rounds 5
  agent_steel --kernel-name relu,softmax,sqr_mm --loop --budget-minutes 10
  agent_steel --set standard --loop --parallel 4 --strategy beam
  agent_steel --kernel-name softmax --loop --on ssh://mac.local
  agent_steel --kernel-name softmax --provider openai --model MODEL --max-cost 2
  agent_steel --kernel-name softmax --loop --objective predicted:m4
  agent_steel --resume                   go on where Ctrl-C or a crash has ended it
  agent_steel history softmax            what was tried, as a tree
  agent_steel show 12                    one attempt: source, diagnosis, verdict
  agent_steel diff 3 12                  what is different between two attempts
  agent_steel log softmax                prompts and answers of a model
  agent_steel export softmax             the best version as a .metal file
  agent_steel plot softmax --out a.svg   best so far over rounds
  agent_steel export-session --out a.jsonl   a session with its prompts and judgements
  agent_steel --replay a.jsonl           the same again, without a model
  agent_steel weld ops.py:softplus --input 1024x1024   a task from a program, without a model
  agent_steel weld -d "..." --provider P a new task and kernel by a model (also --welder)
  agent_steel model my_model.py          faster kernels for a PyTorch or MLX network

\b
Without --provider the tuner proposes: it needs no key and no network. The working tree is
never edited; --apply or `export` writes the winner.

\b
Exit codes: 0; 1 if some kernel was not correct to begin with; 2 wrong usage or environment;
130 interrupted (all that was judged is kept, --resume goes on).
"""


class _Names(click.ParamType[Any]):
    """Names with commas between them."""

    name = "names"

    def convert(
        self, value: Any, parameter: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Cut the text at its commas."""
        if isinstance(value, tuple):
            return value
        found = tuple(each.strip() for each in str(value).split(",") if each.strip())
        if not found:
            self.fail("expected names of kernels, such as relu or relu,softmax", parameter, ctx)
        return found


class _Options(ErrorsAreMessages):
    """A group that without a command does what its own options ask for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show help when nothing is asked for at all; --welder is the command that it names."""
        if "--welder" in args:
            args = ["weld", *(each for each in args if each != "--welder")]
        if not args:
            echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


@click.group(
    cls=_Options,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--kernel-name",
    "kernel_names",
    type=_Names(),
    default=(),
    metavar="NAME[,NAME]...",
    shell_complete=complete_names,
    help="Kernels to make faster.",
)
@click.option("--set", "set_name", metavar="SET", help="All of a set: common, standard, full.")
@click.option("--all", "everything", is_flag=True, help="All kernels of the library.")
@click.option("--loop", is_flag=True, help="Go on round after round; else there is one round.")
@click.option(
    "--max-rounds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Most rounds of a kernel; 10 with --loop, and of `agent_steel model`.",
)
@click.option(
    "--max-no-improvement",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop a kernel after this number of rounds without improvement; else 2, of a population "
    "8.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    metavar="N",
    help="Versions that a round tries of each lineage or island; else 4 of the tuner, 1 of a "
    "model and of each island.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Proposals that are sought at a time. Measured is one at a time.",
)
@click.option(
    "--strategy",
    type=click.Choice(["greedy", "beam", "population"]),
    default="greedy",
    show_default=True,
    help="greedy improves the best; beam keeps --lineages and crosses their ideas; population "
    "keeps several versions on each of --islands.",
)
@click.option(
    "--lineages",
    type=click.IntRange(min=2),
    default=3,
    show_default=True,
    metavar="N",
    help="Of --strategy beam: how many are kept.",
)
@click.option(
    "--islands",
    type=click.IntRange(min=2),
    default=3,
    show_default=True,
    metavar="N",
    help="Of --strategy population: how many there are.",
)
@provider_option(TUNER, default=TUNER, show_default=True)
@model_options
@click.option(
    "--budget-minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Longest time for everything.",
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="speed",
    show_default=True,
    help="What is kept. speed: what is FASTER. stable: what scatters less and is not slower. "
    "balanced: either, at neither's expense. compute, memory: what is FASTER, of kernels that "
    "are nearer to that roof; others are left alone.",
)
@objectives_option(
    "What decides: times that are measured on the device, or times that a model predicts for an "
    "Apple GPU such as m4, with probabilities. Of several, such as predicted:m1,predicted:m4, a "
    "version must be better on one, and worse on none."
)
@click.option(
    "--held-out/--no-held-out",
    default=True,
    show_default=True,
    help="Keep only what is also right, and not slower, at sizes and with inputs that no proposer "
    "sees.",
)
@click.option("--size", metavar="NAME", help="Size to time; else the device's headline.")
@dtype_option(default="float32", show_default=True, help="Element type.")
@seed_option("Of the inputs and of the order of samples.")
@time_option(
    1.0, "Longest time to time a candidate; what is FASTER is confirmed in three times it."
)
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What is printed on standard output at the end.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--replay",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run a session of `agent_steel export-session` again: answers and judgements come from "
    "the file. Nothing is asked or timed. Without --db its store is removed at the end.",
)
@click.option("--resume", is_flag=True, help="Go on with the session that was broken off last.")
@click.option("--apply", is_flag=True, help="Write the winners in place of the kernels' files.")
@click.option(
    "--record",
    is_flag=True,
    help="Let winners become records (see `metalbench leaderboard`), where nothing is faster.",
)
@click.option(
    "--predict",
    metavar="CHIP",
    help="Give proposers the predicted time on an Apple GPU such as m4, and what takes it.",
)
@click.option(
    "--gputrace",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help=f"Leave a GPU trace of each kernel's start and best as FOLDER/NAME-N{SUFFIX}, on a Mac.",
)
@click.option(
    "--cluster",
    metavar="HOST:PORT|local",
    help="Verify candidates on the nodes of a Ray cluster, or on a local one, while others are "
    "timed. With predicted objectives their work is measured there, too.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Of --cluster local: candidates to verify at a time; else the number of processors.",
)
@limit_options
@on_options
@kernel_options
@click.pass_context
def main(ctx: click.Context, /, **options: Any) -> None:
    """Make Metal kernels faster: profile, propose, verify, keep what is truly faster, go on.

    A candidate is kept if it is correct at every size and in checked builds, is FASTER than the
    best so far in pairs, and is so again on other inputs. With --objective predicted:CHIP it is
    kept if a model predicts that it is faster. Every attempt is in the store.
    """
    if ctx.invoked_subcommand is not None:
        return
    from agent_steel.cli.run import run

    ctx.exit(run(ctx, options))


model_command.params += [each for each in main.params if each.name in OF_THE_LOOP]
for command in (
    *(history, show, diff, log, export, export_session_command, plot, welder_command),
    model_command,
):
    main.add_command(command)
