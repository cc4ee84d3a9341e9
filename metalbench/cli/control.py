"""``metalbench run --ab-control``: MLX against itself, and one kernel by MLX and by metalbench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device
    from metalbench.cli.progress import LineProgress, LiveProgress
    from metalbench.result import Result
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial


def control(
    device: Device, trials: Sequence[Trial], progress: LineProgress | LiveProgress
) -> Outcome:
    """Time each task's reference against itself; with a GPU, also one kernel by MLX.

    Results are not stored, because they are not results of kernels.
    """
    from metalbench.errors import DeclarationError
    from metalbench.run.control import attempt_control, attempt_path
    from metalbench.run.path_control import NAME, SIZES
    from metalbench.run.runner import Outcome

    untried = []
    ended = "finished"
    paths = tuple(SIZES) if device.own_clock and trials else ()
    total = len(trials) + len(paths)
    with progress:
        try:
            for index, size in enumerate(paths):
                progress.kernel_started(index, total, f"{NAME} {size}", "float32")
                progress.kernel_finished(attempt_path(device, size, trials[0].plan, progress))
            for index, trial in enumerate(trials, start=len(paths)):
                progress.kernel_started(index, total, trial.entry.name, trial.dtype)
                try:
                    progress.kernel_finished(attempt_control(device, trial, progress))
                except DeclarationError as error:
                    untried.append(str(error))
        except KeyboardInterrupt:
            ended = "interrupted"
    return Outcome(tuple(progress.results), ended, untried=tuple(untried))


def print_control(out: Console, results: Sequence[Result]) -> bool:
    """Print the number of wrong verdicts; return whether there is none."""
    from metalbench.run.path_control import SET

    of_path = [each for each in results if each.case.set == SET]
    of_mlx = [each for each in results if each.case.set != SET]
    if not of_path:
        out.print(
            "Path control: not run, for MLX and metalbench have no GPU in common here.",
            soft_wrap=True,
        )
    return all([_print_mlx(out, of_mlx), *[_print_path(out, each) for each in of_path]])


def _print_path(out: Console, result: Result) -> bool:
    from metalbench.report import numbers
    from metalbench.stats import Verdict

    measured, size = result.measurement, result.case.size
    if measured is None or measured.verdict is None:
        out.print(f"Path control, {size}: failed; see above.", style="red")
        return False
    right = measured.verdict is Verdict.SAME
    by_wall = measured.by_wall
    out.print(
        f"Path control, {size}: one kernel by way of MLX and of metalbench, which must be SAME: "
        f"{measured.verdict.value}, {numbers.ratio(measured.ratio)} of {measured.clock}"
        + (f", {numbers.ratio(by_wall.ratio)} of wall time." if by_wall else "."),
        style="green" if right else "red",
        soft_wrap=True,
    )
    return right


def _print_mlx(out: Console, results: Sequence[Result]) -> bool:
    false = [each.case.task for each in results if _differs(each)]
    timed = sum(each.measurement is not None for each in results)
    named = f" ({', '.join(false)})" if false else ""
    out.print(
        "Control: MLX was timed against itself, so that FASTER and SLOWER are false: "
        f"{len(false)} of {timed}{named}.",
        style="red" if false else "green",
        soft_wrap=True,
    )
    return not false


def _differs(result: Result) -> bool:
    from metalbench.stats import Verdict

    measured = result.measurement
    return measured is not None and measured.verdict in (Verdict.FASTER, Verdict.SLOWER)
