"""Print the progress of a run."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments
from rich.text import Text

from metalbench.report import numbers
from metalbench.report.results import results_table
from metalbench.report.terminal import HEADING, QUIET, STATUS_STYLES
from metalbench.run.trial import Stage

if TYPE_CHECKING:
    from metalbench.measure.measurement import Measurement
    from metalbench.store.result import Result

BAR_WIDTH = 20
# Drawing costs time during a measurement, so it is rare and never in a separate thread.
SECONDS_BETWEEN_DRAWINGS = 0.5
# Estimated time of a kernel's verification, before the first one is finished.
FIRST_GUESS_SECONDS = 5.0
LINES_BELOW = 4


class ProgressDisplay:
    """Tracks the current kernel and stage, and estimates the remaining time."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._guess = seconds + FIRST_GUESS_SECONDS
        self._start = self._kernel_start = clock()
        self._index, self._total = 0, 1
        self.results: list[Result] = []
        self.kernel = self.detail = ""
        self.stage: Stage | None = None
        # Of the first kernel that is not done.
        self.next = 0

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Begin with the next kernel."""
        self._index, self._total = index, total
        self.next = index
        self._kernel_start = self._clock()
        self.kernel = task if dtype == "float32" else f"{task} ({dtype})"
        self.stage, self.detail = None, ""

    def stage_started(self, stage: Stage) -> None:
        """Enter a stage of the current kernel."""
        self.stage, self.detail = stage, ""

    def stage_detail(self, detail: str) -> None:
        """Store the size and seed of the stage."""
        self.detail = detail

    def stage_progress(self, fraction: float) -> None:
        """Store the fraction of the stage that is done."""
        self.detail = f"{100 * fraction:.0f} %"

    def kernel_finished(self, result: Result) -> None:
        """Count a finished kernel."""
        self.results.append(result)
        self.next = self._index + 1

    @property
    def position(self) -> str:
        """The position in the run, such as ``[ 3/20]``."""
        width = len(str(self._total))
        return f"[{self._index + 1:{width}}/{self._total}]"

    @property
    def seconds_left(self) -> float:
        """The remaining time, estimated by the mean time of the finished kernels."""
        done = len(self.results)
        each = (self._kernel_start - self._start) / done if done else self._guess
        running = min(self._clock() - self._kernel_start, each)
        return (self._total - done) * each - running

    @property
    def fraction(self) -> float:
        """The fraction of the run that is done, by time."""
        passed = self._clock() - self._start
        return passed / max(passed + self.seconds_left, 1e-9)


class LiveProgress(ProgressDisplay):
    """Prints a growing table, with a status line that disappears at the end."""

    def __init__(self, console: Console, seconds: float) -> None:
        super().__init__(seconds)
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._table: RenderableType = Text()
        self._drawn = float("-inf")

    def __enter__(self) -> LiveProgress:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def stage_started(self, stage: Stage) -> None:
        """Enter a stage and draw it."""
        super().stage_started(stage)
        self._draw()

    def stage_detail(self, detail: str) -> None:
        """Store the detail, and draw it unless the last drawing was recent."""
        super().stage_detail(detail)
        self._draw_seldom()

    def stage_progress(self, fraction: float) -> None:
        """Store the fraction, and draw it unless the last drawing was recent."""
        super().stage_progress(fraction)
        self._draw_seldom()

    def kernel_finished(self, result: Result) -> None:
        """Add a line to the table, laid out once."""
        super().kernel_finished(result)
        options = self._console.options
        lines = self._console.render_lines(results_table(self.results, self._console), options)
        room = max(self._console.height - LINES_BELOW, 4)
        shown = lines if len(lines) <= room else [*lines[:2], *lines[2 - room :]]
        self._table = Segments([part for line in shown for part in (*line, Segment.line())])

    def _draw_seldom(self) -> None:
        if self._clock() - self._drawn >= SECONDS_BETWEEN_DRAWINGS:
            self._draw()

    def _draw(self) -> None:
        self._drawn = self._clock()
        above = [self._table, Text()] if self.results else []
        self._live.update(Group(*above, self._status()), refresh=True)

    def _status(self) -> Text:
        full = round(BAR_WIDTH * self.fraction)
        text = Text(no_wrap=True, overflow="ellipsis")
        line = "━" if self._console.encoding.startswith("utf") else "-"
        text.append(line * full, style="green").append(line * (BAR_WIDTH - full), style=QUIET)
        text.append(f" {self.position} {_describe_remaining(self.seconds_left)}  ")
        text.append(self.kernel, style=HEADING)
        if self.stage is not None:
            text.append(f"  {self.stage.value}")
        return text.append(f"  {self.detail}", style=QUIET)


class LineProgress(ProgressDisplay):
    """Prints a line for each finished kernel, for logs and pipes."""

    def __init__(self, console: Console, seconds: float) -> None:
        super().__init__(seconds)
        self._console = console

    def __enter__(self) -> LineProgress:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def kernel_finished(self, result: Result) -> None:
        """Print the result and the remaining time."""
        super().kernel_finished(result)
        text = Text(f"{self.position} {self.kernel}: ")
        text.append(result.status.value, style=STATUS_STYLES[result.status])
        if result.measurement is not None:
            text.append(_describe_times(result.measurement))
        if len(self.results) < self._total:
            self._kernel_start = self._clock()
            text.append(f"; {_describe_remaining(self.seconds_left)}")
        self._console.print(text)


def _describe_times(measured: Measurement) -> str:
    """Return ``, 12.35 us, MLX / kernel 2.01x [1.99, 2.02]``; without a ratio if none is known."""
    interval, unit = numbers.in_time_unit(measured.candidate_ns)
    text = f", {numbers.estimate(interval)}{unit}"
    if measured.ratio is None:
        return text
    return f"{text}, MLX / kernel {numbers.ratio(measured.ratio)}"


def _describe_remaining(seconds: float) -> str:
    return f"about {numbers.duration(max(1, round(seconds)))} left".replace(".0 s", " s")
