"""``metalbench run --ab-control``: MLX against itself."""

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
    """Time each task's reference against itself. Nothing is kept: these are no kernel's results."""
    from metalbench.errors import DeclarationError
    from metalbench.run.control import attempt_control
    from metalbench.run.runner import Outcome

    untried = []
    ended = "finished"
    with progress:
        try:
            for index, trial in enumerate(trials):
                progress.kernel_started(index, len(trials), trial.entry.name, trial.dtype)
                try:
                    progress.kernel_finished(attempt_control(device, trial, progress))
                except DeclarationError as error:
                    untried.append(str(error))
        except KeyboardInterrupt:
            ended = "interrupted"
    return Outcome(tuple(progress.results), ended, untried=tuple(untried))


def tell_control(out: Console, results: Sequence[Result]) -> bool:
    """Say how many verdicts of equals are wrong; whether none is."""
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
