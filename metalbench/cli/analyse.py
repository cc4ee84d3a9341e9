"""``metalbench analyse``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import DTYPES, FOLDER, store_option, writable_picture
from metalbench.cli.output import html_option, is_taken, table_options, write_text
from metalbench.devices import KINDS
from metalbench.report.console import echo

if TYPE_CHECKING:
    from metalbench.kernelbench.comparison import ComparisonOptions
    from metalbench.store.store import Store

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
EXAMPLES = """\b
Examples:
  metalbench analyse runs/a
  metalbench analyse runs/a runs/b --plot fast_p.svg
  metalbench analyse runs/a --html a.html --export-kernelbench theirs
  metalbench analyse runs/a -k 1 -k 4 -p 1 -p 3 --json figures.json
"""


@click.command(epilog=EXAMPLES, short_help="fast_p and pass@k of evaluated generations.")
@click.argument("folders", nargs=-1, required=True, type=FOLDER, metavar="RUN...")
@click.option(
    "-p",
    "thresholds",
    type=click.FloatRange(min=0),
    multiple=True,
    default=THRESHOLDS,
    show_default=True,
    help="A threshold of fast_p. Repeatable.",
)
@click.option(
    "-k",
    "ks",
    type=click.IntRange(min=1),
    multiple=True,
    help="A k of pass@k; else 1 and the number of samples. Repeatable.",
)
@click.option(
    "--baseline",
    type=click.Choice(["compared", "eager", "compiled", "fast"]),
    default="compared",
    show_default=True,
    help="The form of MLX that ratios are against; compared is the fastest, timed in pairs.",
)
@click.option("--device", type=click.Choice(list(KINDS)), help="Of several, this one.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Of several, this element type.")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME",
    help="Of several, this size. Repeatable, for tasks that were evaluated at different sizes.",
)
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable_picture,
    metavar="FILE",
    help="Draw the curves of fast_p as .svg.",
)
@click.option(
    "--export-kernelbench",
    "export_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write KernelBench's own files: DIR/runs/RUN/eval_results.json, DIR/results/timing/...",
)
@click.option(
    "--kernelbench-baseline",
    "timing",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Times of the baseline for a RUN of KernelBench's own: results/timing/.../NAME.json.",
)
@html_option
@table_options
@store_option
def analyse(folders: tuple[Path, ...], **options: Any) -> None:
    """Say which share of evaluated generations compiles, is correct, and is fast.

    RUN is a folder that `metalbench evaluate` has evaluated, or one of KernelBench's own with an
    eval_results.json; several are shown side by side.
    """
    from metalbench.kernelbench.comparison import (
        ComparisonOptions,
        compute_columns,
        count_planned_samples,
    )
    from metalbench.report.console import console
    from metalbench.report.generations import comparison_report, to_csv, to_json
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    fewest = min(count_planned_samples(each) for each in folders)
    question = ComparisonOptions(
        thresholds=sorted(set(options["thresholds"])),
        ks=sorted(set(options["ks"] or (1, fewest))),
        baseline=options["baseline"],
        device=options["device"],
        dtype=options["dtype"],
        sizes=options["sizes"],
        timing=options["timing"],
    )
    with Store(store_path(options["db"])) as store:
        columns = compute_columns(folders, store, question)
        _export(folders, store, question, options["export_folder"])
    out = console(to_stderr=is_taken(options))
    out.print(comparison_report(columns, options["baseline"]))
    if options["json_file"]:
        write_text(options["json_file"], to_json(columns, options["baseline"]))
    if options["csv_file"]:
        write_text(options["csv_file"], to_csv(columns))
    if options["html_file"]:
        from metalbench.report.page.document import page_of_generations

        write_text(options["html_file"], page_of_generations(columns, options["baseline"]))
    if options["plot_file"]:
        from metalbench.report.generations import draw

        draw(columns, options["plot_file"])


def _export(
    folders: Sequence[Path], store: Store, question: ComparisonOptions, target: Path | None
) -> None:
    """Write every folder of ours as KernelBench does, and say what was written."""
    from metalbench.kernelbench.comparison import select_evaluations
    from metalbench.kernelbench.folder import read_plan
    from metalbench.kernelbench.result_files import export, is_kernelbench_run

    for root in folders:
        if target is not None and not is_kernelbench_run(root):
            found = select_evaluations(root, store, question)
            name = root.resolve().name
            for path in export(target, name, read_plan(root), found, store):
                echo(f"Wrote {path}", err=True)
