"""``metalbench analyse``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metalbench.cli.output import is_taken, table_options, write_text
from metalbench.cli.parameters import DTYPES, FOLDER, store_option, writable

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
EXAMPLES = """\b
Examples:
  metalbench analyse runs/a
  metalbench analyse runs/a runs/b --plot fast_p.svg
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
@click.option("--device", type=click.Choice(["cpu", "metal", "cuda"]), help="Of several, this one.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Of several, this element type.")
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Draw the curves of fast_p as .svg or .png (extra `plot`).",
)
@table_options
@store_option
def analyse(folders: tuple[Path, ...], **options: Any) -> None:
    """Say which share of evaluated generations compiles, is correct, and is fast.

    RUN is a folder that `metalbench evaluate` has evaluated; several are shown side by side.
    """
    from metalbench.generations.comparison import Question, columns_of
    from metalbench.generations.folder import plan_of
    from metalbench.report.console import console
    from metalbench.report.generations import comparison_report, to_csv, to_json
    from metalbench.store import Store, location

    fewest = min(plan_of(each).samples for each in folders)
    question = Question(
        thresholds=sorted(set(options["thresholds"])),
        ks=sorted(set(options["ks"] or (1, fewest))),
        baseline=options["baseline"],
        device=options["device"],
        dtype=options["dtype"],
    )
    with Store(location(options["db"])) as store:
        columns = columns_of(folders, store, question)
    out = console(to_stderr=is_taken(options))
    out.print(comparison_report(columns, options["baseline"]))
    if options["json_file"]:
        write_text(options["json_file"], to_json(columns, options["baseline"]))
    if options["csv_file"]:
        write_text(options["csv_file"], to_csv(columns))
    if options["plot_file"]:
        from metalbench.report.fast_p_plot import draw

        draw(columns, options["plot_file"])
