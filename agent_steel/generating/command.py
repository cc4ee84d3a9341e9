"""``metalbench generate``."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_steel.models.providers.presets import (
    collect_options,
    free_model_options,
    provider_option,
)
from metalbench.cli.options import kernels_option
from metalbench.report.console import echo

if TYPE_CHECKING:
    from agent_steel.generating.generate import Request, WrittenSample
    from agent_steel.models.providers.model import Model
    from metalbench.kernel.library import Entry

PROMPTS = ("zero-shot", "one-shot", "few-shot")
LANGUAGES = ("metal", "python")
EXAMPLES = """\b
Examples:
  metalbench generate --suite common --problems 1-20 --samples 4 --provider anthropic --out runs/a
  metalbench generate --suite kernelbench --level 1 --provider openai --model M --out runs/b
  metalbench evaluate runs/a && metalbench analyse runs/a
"""


class _Numbers(click.ParamType[Any]):
    """Numbers and ranges of them with commas between, such as 1-20,33."""

    name = "numbers"

    def convert(
        self, value: Any, parameter: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read the numbers."""
        if isinstance(value, tuple):
            return value
        found: list[int] = []
        for part in str(value).split(","):
            ends = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
            if ends is None:
                self.fail(f"expected numbers such as 1-20,33, got {value!r}", parameter, ctx)
            found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
        return tuple(dict.fromkeys(found))


@click.command(epilog=EXAMPLES, short_help="Have a model write kernels, many for each problem.")
@click.option("--suite", required=True, metavar="SET", help="Set of tasks, or kernelbench.")
@click.option("--level", type=click.IntRange(min=1), metavar="N", help="Level of kernelbench.")
@click.option("--problems", type=_Numbers(), metavar="N-M,...", help="Of the set; else all.")
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, metavar="N")
@click.option("--prompt", type=click.Choice(PROMPTS), default="one-shot", show_default=True)
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="metal",
    show_default=True,
    help="A Metal file, or a Python file that launches its kernels itself.",
)
@click.option("--hardware", default="", metavar="CHIP", help="The hardware that the prompt names.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="Else the provider's own.")
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=4,
    show_default=True,
    metavar="N",
    help="Requests at a time.",
)
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="RUN",
    help="Folder of the samples; one that is there is gone on with.",
)
@provider_option(required=True)
@free_model_options
@kernels_option
@click.pass_context
def generate(ctx: click.Context, /, folder: Path, **options: Any) -> None:
    """Ask a model for kernels, and write each answer to RUN/SET/problem_N/sample_I.metal (or .py).

    What is there is not asked for again, nor what the same words have been answered before: after
    Ctrl-C, a crash or --max-cost the same command goes on.

    Exit codes: 0 all samples are there; 1 some got no answer; 2 wrong usage or environment, no
    server, a server that refuses every request, or what may be spent is spent; 130 interrupted.
    """
    from agent_steel.generating.generate import SampleRequest, begin_folder, remaining, requests_of
    from agent_steel.generating.generate import generate as ask
    from agent_steel.models.providers import create_model
    from metalbench.kernelbench.folder import get_level_name

    model = create_model(options["provider"], **collect_options(options))
    asking = SampleRequest(
        model.provider,
        model.name,
        options["prompt"],
        model.max_tokens,
        options["temperature"],
        options["hardware"],
        options["base_url"],
        options["language"],
    )
    level = get_level_name(_set_name(options["suite"], options["level"]))
    tasks = _tasks(level, options)
    requests = requests_of(level, tasks, options["samples"], asking, model.prompts)
    begin_folder(folder, {level: [number for number, _ in tasks]}, options["samples"], asking)
    left = remaining(folder, requests)
    _tell_cost(model, len(requests), left)
    progress = _GenerationProgress(model, len(left))
    ask(folder, left, model, asking, progress, parallel=options["parallel"])
    ctx.exit(int(progress.failed))


def _set_name(suite: str, level: int | None) -> str:
    if suite == "kernelbench":
        if level is None:
            raise click.UsageError("--suite kernelbench: expected --level with it, such as 1")
        return f"{suite}/level{level}"
    if level is not None:
        raise click.UsageError(f"--level: expected --suite kernelbench with it, got {suite}")
    return suite


def _tasks(level: str, options: dict[str, Any]) -> list[tuple[int, Entry]]:
    from metalbench.kernel.library import Library
    from metalbench.kernelbench.trials import find_tasks

    tasks = find_tasks([level], Library(options["kernels"]))[level]
    wanted = options["problems"] or range(1, len(tasks) + 1)
    for each in wanted:
        if not 1 <= each <= len(tasks):
            raise click.UsageError(f"--problems: expected 1 to {len(tasks)}, got {each}")
    return [(each, tasks[each - 1]) for each in wanted]


def _tell_cost(model: Model, total: int, left: Sequence[Request]) -> None:
    tokens_in = sum(each.tokens_at_most for each in left)
    worst = model.ledger.worst(model.name, tokens_in, model.max_tokens * len(left))
    cost = "at a price that is not known" if worst is None else f"at most {worst:.4f} US dollars"
    echo(
        f"{total} sample{'' if total == 1 else 's'}, {total - len(left)} there already; up to "
        f"{len(left)} request{'' if len(left) == 1 else 's'} to {model.name}, {cost}",
        err=True,
    )


class _GenerationProgress:
    """Prints a line for every sample, with what all have cost so far."""

    def __init__(self, model: Model, total: int) -> None:
        self._model = model
        self._total = total
        self._count = 0
        self._lock = threading.Lock()
        self.failed = False

    def __call__(self, written: WrittenSample) -> None:
        each = written.request
        with self._lock:
            self._count += 1
            self.failed = self.failed or bool(written.error)
            tokens = f"{written.usage.tokens_in} + {written.usage.tokens_out} tokens"
            what = written.error or ("from the cache" if written.cached else tokens)
            cost = self._model.ledger.usage.cost
            so_far = "" if cost is None else f"; {cost:.4f} US dollars so far"
            name = f"{each.level}/problem_{each.problem}/sample_{each.sample}"
            echo(f"[{self._count}/{self._total}] {name}: {what}{so_far}", err=True)
