"""A table at the bottom of the terminal that shows what a session is doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from agent_steel.attempt import Attempt, Status
from agent_steel.cli.report import ProgressPrinter, format_usage
from agent_steel.proposal import Usage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agent_steel.loop.settings import SearchSubject
    from agent_steel.proposal import Diagnosis

FRAMES_PER_SECOND = 4
LONGEST = 60


@dataclass
class _Row:
    """The state of one kernel's search."""

    round: str = ""
    candidate: str = ""
    now: str = ""
    ratio: str = ""
    tried: int = 0
    kept: int = 0


class LiveView(ProgressPrinter):
    """A listener that prints judgements as lines, and the present state as a table below them.

    The table has a row for each kernel: round, candidate, what happens now, the ratio of the last
    candidate, and how many were kept. Its last line has the time, the tokens and the cost so far.
    Use it as a context.
    """

    def __init__(
        self, log: Console, usage: Callable[[], Usage], clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(log, usage)
        from rich.live import Live

        self._rows: dict[str, _Row] = {}
        self._lock = Lock()
        self._clock = clock
        self._begin = clock()
        self._live = Live(
            console=log,
            get_renderable=self.render,
            refresh_per_second=FRAMES_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def on_start(self, subject: SearchSubject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Print the bottleneck of the best version, and begin a row."""
        self._row(subject).now = "asking"
        super().on_start(subject, best, diagnosis)

    def on_round_start(self, subject: SearchSubject, number: int, most: int) -> None:
        """Show the number of the round."""
        row = self._row(subject)
        row.round, row.candidate, row.now = f"{number} of {most}", "", "asking"

    def on_message(self, subject: SearchSubject, text: str) -> None:
        """Show a message until the next one."""
        self._row(subject).now = text

    def on_judging(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Show that an attempt is verified and measured."""
        row = self._row(subject)
        row.candidate, row.now = str(attempt.number), "verifying and measuring"

    def on_judgement(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Print the status of an attempt, and show its ratio."""
        row = self._row(subject)
        row.ratio = "" if attempt.ratio is None else f"{attempt.ratio.value:.3g}x"
        row.tried += attempt.status is not Status.UNDECIDED
        row.kept += attempt.status is Status.KEPT
        row.now = attempt.status.value
        super().on_judgement(subject, attempt)

    def on_end(self, subject: SearchSubject, reason: str) -> None:
        """Print why the search ended."""
        self._row(subject).now = f"done: {reason}"
        super().on_end(subject, reason)

    def render(self) -> Table:
        """Return the table of the present state."""
        from rich.text import Text

        from metalbench.report.terminal import QUIET, plain_table
        from metalbench.safe_text import one_line

        table = plain_table(terminal=True)
        for name in ("kernel", "round", "candidate", "last ratio", "tried", "kept", "now"):
            table.add_column(name, justify="left" if name in ("kernel", "now") else "right")
        with self._lock:
            rows = list(self._rows.items())
        for name, row in rows:
            now = one_line(row.now)
            table.add_row(
                *(name, row.round, row.candidate, row.ratio, str(row.tried), str(row.kept)),
                now if len(now) <= LONGEST else f"{now[:LONGEST]}...",
            )
        minutes, seconds = divmod(int(self._clock() - self._begin), 60)
        used = format_usage(self._usage()) or "no requests to a model"
        table.caption = Text(f"{minutes}:{seconds:02} min, {used}", style=QUIET)
        table.caption_justify = "left"
        return table

    def _row(self, subject: SearchSubject) -> _Row:
        with self._lock:
            return self._rows.setdefault(subject.label, _Row())
