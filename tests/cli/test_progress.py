"""Progress of a run, on a scripted clock."""

from __future__ import annotations

import io

from example_results import correct, incorrect
from rich.console import Console

from metalbench.cli.progress import LineProgress, LiveProgress, ProgressDisplay
from metalbench.run.trial import Stage


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_guessed_first_and_then_learnt() -> None:
    clock = Clock()
    progress = ProgressDisplay(seconds=2.0, clock=clock)
    progress.kernel_started(0, 4, "relu", "float32")
    assert progress.seconds_left == 4 * 7.0
    clock.now = 3.0
    assert progress.seconds_left == 4 * 7.0 - 3.0
    clock.now = 10.0
    progress.kernel_finished(correct("relu"))
    progress.kernel_started(1, 4, "gelu", "float32")
    assert progress.seconds_left == 3 * 10.0
    assert progress.fraction == 0.25
    clock.now = 99.0
    assert progress.seconds_left == 2 * 10.0


def test_a_log_gets_one_line_for_each_finished_kernel() -> None:
    text = io.StringIO()
    progress = LineProgress(Console(file=text, width=200), seconds=2.0)
    for index, result in enumerate((correct("softmax"), incorrect("relu"))):
        progress.kernel_started(index, 2, result.case.task, "float32")
        progress.stage_started(Stage.VERIFY)
        progress.stage_detail("small, seed 0")
        progress.kernel_finished(result)
    first, second = text.getvalue().splitlines()
    assert first.startswith("[1/2] softmax: correct, 12.35 us, MLX / kernel 2.01x [1.99, 2.02]; ")
    assert second == "[2/2] relu: incorrect"


def test_terminal_progress_has_kernel_stage_and_remaining_time() -> None:
    text = io.StringIO()
    console = Console(file=text, width=150, height=30, force_terminal=True, color_system=None)
    with LiveProgress(console, seconds=2.0) as progress:
        progress.kernel_started(0, 2, "softmax", "float16")
        progress.stage_started(Stage.MEASURE)
        progress.stage_progress(0.5)
        progress.kernel_finished(correct("softmax"))
        progress.kernel_started(1, 2, "relu", "float32")
        progress.stage_started(Stage.COMPILE)
    shown = text.getvalue()
    assert "[1/2] about 14 s left  softmax (float16)  measure" in shown
    assert "relu  compile" in shown
    assert "12.35 us [12.26, 12.44]" in shown
    # The last thing written erases the lines of the live display.
    assert shown.rstrip("\n").endswith("\x1b[2K")
