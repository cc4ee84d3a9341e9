"""``metalbench puzzles``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metalbench.cli.options import writable_picture
from metalbench.cli.output import is_taken, json_option, write_text
from metalbench.report.console import echo
from metalbench.safe_text import json_text

FOLDER = Path("my_puzzles")
TRACED = 20_000
# Width of paragraphs.
WIDTH = 100
EXAMPLES = """\b
Examples:
  metalbench puzzles
  metalbench puzzles show 3
  metalbench puzzles start 3
  metalbench puzzles check 3
  metalbench puzzles show 3 --hint

\b
A solution is the kernel that `start` has written, with its body filled in. With --python it is a
file over mx.fast.metal_kernel, whose function solve() returns the output; that file is run as your
own program, in this process, and its kernel apart from it.
"""


@click.group(
    invoke_without_command=True,
    epilog=EXAMPLES,
    short_help="Learn Metal: exercises from a map to a tiled matrix product.",
)
@click.pass_context
def puzzles(ctx: click.Context) -> None:
    """Fourteen exercises that teach Metal, from a map to a tiled matrix product.

    Without a command they are listed, with how far you have come.
    """
    if ctx.invoked_subcommand is not None:
        return
    from metalbench.puzzle.attempt import PuzzleProgress
    from metalbench.puzzle.puzzle import series
    from metalbench.report.console import console
    from metalbench.report.puzzle import puzzles_table

    out = console()
    found, progress = series(), PuzzleProgress()
    out.print(puzzles_table(found, progress, terminal=out.is_terminal))
    first = next((each for each in found if not progress.of(each.name).solved), None)
    if first is not None:
        out.print(f"\nGo on with: metalbench puzzles show {first.number}")


@puzzles.command(short_help="Show the exercise and its hints, one at a time.")
@click.argument("puzzle", metavar="PUZZLE")
@click.option("--hint", is_flag=True, help="Give one more hint; those given stay.")
def show(puzzle: str, hint: bool) -> None:
    """Show the exercise of a PUZZLE, given by its number or name, and its skeleton."""
    from dataclasses import replace

    from metalbench.puzzle.attempt import PuzzleProgress
    from metalbench.puzzle.puzzle import find
    from metalbench.report.console import console
    from metalbench.report.puzzle import show_statement

    found, progress = find(puzzle), PuzzleProgress()
    step = progress.of(found.name)
    if hint and step.hints < len(found.hints):
        step = replace(step, hints=step.hints + 1)
        progress.keep(found.name, step)
    elif hint:
        echo("There are no more hints.", err=True)
    out = console()
    out.print(show_statement(found, step.hints), width=min(out.width, WIDTH))


@puzzles.command(short_help="Write a file to begin with.")
@click.argument("puzzle", metavar="PUZZLE")
@click.option("--python", is_flag=True, help="Write Python over mx.fast.metal_kernel instead.")
@click.option(
    "--into",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="Folder to write to; created if it does not exist.",
)
def start(puzzle: str, python: bool, folder: Path) -> None:
    """Write the skeleton of a PUZZLE, which compiles and does nothing yet."""
    from metalbench.puzzle.puzzle import find
    from metalbench.puzzle.puzzle import start as write

    found = find(puzzle)
    path = write(found, folder, python=python)
    more = "" if folder == FOLDER else f" {path}"
    echo(f"{path}: fill in the body, then: metalbench puzzles check {found.number}{more}")


@puzzles.command(short_help="Check whether a solution is correct, clean and fast.")
@click.argument("puzzle", metavar="PUZZLE")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable_picture,
    metavar="FILE",
    help="Draw the accesses of each thread by step, as .svg.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.01),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time of each run.",
)
@json_option
@click.pass_context
def check(ctx: click.Context, /, puzzle: str, file: Path | None, **options: Any) -> None:
    """Check FILE, a .metal or .py file, as a solution of a PUZZLE; else the one in my_puzzles.

    Exit codes: 0 solved, 1 not solved, 2 wrong usage.
    """
    from metalbench.puzzle.attempt import PuzzleProgress
    from metalbench.puzzle.attempt import check as judge
    from metalbench.puzzle.puzzle import find
    from metalbench.report.console import console
    from metalbench.report.puzzle import attempt_json, attempt_report

    found, progress = find(puzzle), PuzzleProgress()
    attempt = judge(
        found,
        file or _find_latest_file(found.stem),
        traced=TRACED if options["picture"] else 0,
        time_limit=options["time_limit"],
    )
    progress.keep(found.name, progress.of(found.name).after(attempt))
    if options["picture"] is not None and attempt.profile is not None:
        from metalbench.report.profile import draw

        draw(attempt.profile, options["picture"])
    if options["json_file"] is not None:
        write_text(options["json_file"], json_text(attempt_json(attempt), indent=2) + "\n")
    out = console(to_stderr=is_taken(options))
    out.print(attempt_report(attempt, terminal=out.is_terminal))
    ctx.exit(int(not attempt.solved))


def _find_latest_file(stem: str) -> Path:
    """Return the file of `start` that was changed last."""
    files = [path for path in (FOLDER / f"{stem}.metal", FOLDER / f"{stem}.py") if path.is_file()]
    return max(files, key=lambda path: path.stat().st_mtime, default=FOLDER / f"{stem}.metal")
