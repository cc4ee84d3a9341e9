"""A kernel's results over time: the best, the latest, and whether it got slower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from metalbench.comparison.result_set import Row, row_of
from metalbench.stats import Interval, Judgement, Verdict
from metalbench.stats.apart import RunSpread, assess_unpaired, estimate_run_spread
from metalbench.store import HistoryEntry

CONDITIONS = attrgetter("conditions")


@dataclass(frozen=True, slots=True)
class Past:
    """Results of a task that compare: one device, element type, size, mode and clock.

    `entries` are all of them, the latest first. `timed` are those that are correct and whose score
    is measured in the same way as the latest's: the ratio to MLX (`by_reference`) if it has one,
    of the same version and form, else the time.
    """

    entries: tuple[HistoryEntry, ...]
    timed: tuple[HistoryEntry, ...]
    by_reference: bool
    spread: RunSpread

    @property
    def latest(self) -> HistoryEntry | None:
        """The latest result that was timed."""
        return self.timed[0] if self.timed else None

    @property
    def best(self) -> HistoryEntry | None:
        """The one whose interval's worse end is best: luck has wide intervals."""
        return max(self.timed, key=self._surely, default=None)

    @property
    def against_previous(self) -> Judgement | None:
        """The latest against the one before it; None without such."""
        return self._judged(self.timed[1]) if len(self.timed) > 1 else None

    @property
    def against_best(self) -> Judgement | None:
        """The latest against the best of all; None if it is the best itself, or alone."""
        best = self.best
        if best is None or best is self.latest:
            return None
        # The best of many runs is also the luckiest.
        return self._judged(best, tries=len(self.timed) - 1)

    @property
    def regressed(self) -> bool:
        """Whether the latest is SLOWER than the best or than the one before."""
        found = (self.against_previous, self.against_best)
        return any(each is not None and each.verdict is Verdict.SLOWER for each in found)

    def score(self, entry: HistoryEntry) -> Interval:
        """What is the higher the better: the ratio to MLX, or passes per nanosecond."""
        score = _score(row_of(entry), by_reference=self.by_reference)
        assert score is not None
        return score

    def _surely(self, entry: HistoryEntry) -> float:
        return self.score(entry).low

    def _judged(self, other: HistoryEntry, tries: int = 1) -> Judgement:
        latest = self.latest
        assert latest is not None
        return assess_unpaired(
            self.score(latest), self.score(other), between=self.spread, tries=max(tries, 1)
        )


def pasts(entries: Sequence[HistoryEntry]) -> Iterator[Past]:
    """The results of a task by what compares; within each the latest first, as given."""
    for _, same in groupby(sorted(entries, key=CONDITIONS), CONDITIONS):
        yield _past(tuple(same))


def _past(entries: tuple[HistoryEntry, ...]) -> Past:
    correct = [entry for entry in entries if entry.status == "correct" and entry.kernel_ns]
    rows = {entry.id: row_of(entry) for entry in correct}
    by_reference = bool(correct) and correct[0].ratio is not None
    timed = [
        entry
        for entry in correct
        if _score(rows[entry.id], by_reference=by_reference) is not None
        and (not by_reference or rows[entry.id].reference == rows[correct[0].id].reference)
    ]
    # The latest is what is judged: it must not excuse itself.
    spread = run_spread(timed[1:], by_reference=by_reference)
    return Past(entries, tuple(timed), by_reference, spread)


def run_spread(entries: Sequence[HistoryEntry], *, by_reference: bool) -> RunSpread:
    """How much runs of one source differ, by results that compare: their ratio to MLX, or time."""
    repeated: dict[tuple[object, ...], list[Interval]] = {}
    for entry in entries:
        score = _score(row_of(entry), by_reference=by_reference)
        if score is not None:
            same = (entry.source_hash, *sorted(entry.tunables.items()))
            repeated.setdefault(same, []).append(score)
    return estimate_run_spread(list(repeated.values()))


def _score(row: Row, *, by_reference: bool) -> Interval | None:
    if by_reference:
        return row.ratio
    return None if row.time_ns is None else row.time_ns.map(lambda time_ns: 1.0 / time_ns)
