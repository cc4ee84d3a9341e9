"""Histories of kernels: the best and the latest result, and regressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from metalbench.comparison.result_set import ComparedRow, row_from_entry
from metalbench.stats import Interval, Judgement, Verdict
from metalbench.stats.apart import RunSpread, assess_unpaired, estimate_run_spread
from metalbench.store import HistoryEntry

CONDITIONS = attrgetter("conditions")


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Comparable results of a task: one device, element type, size, mode and clock.

    `entries` are all results, the latest first. `timed` are the correct ones with the same kind of
    score as the latest: the ratio to MLX (`by_reference`), of the same version and form, else the
    time.
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
        """The result with the best lower end of its score: lucky times have wide intervals."""
        return max(self.timed, key=self._low_score, default=None)

    @property
    def against_previous(self) -> Judgement | None:
        """The latest against the previous result; None without a previous one."""
        return self._judge_against(self.timed[1]) if len(self.timed) > 1 else None

    @property
    def against_best(self) -> Judgement | None:
        """The latest against the best of all; None if it is the best, or the only one."""
        best = self.best
        if best is None or best is self.latest:
            return None
        # The best of many runs is biased by selection.
        return self._judge_against(best, tries=len(self.timed) - 1)

    @property
    def regressed(self) -> bool:
        """Whether the latest is SLOWER than the best or than the previous result."""
        found = (self.against_previous, self.against_best)
        return any(each is not None and each.verdict is Verdict.SLOWER for each in found)

    def score(self, entry: HistoryEntry) -> Interval:
        """Return the score, higher is better: the ratio to MLX, or passes per nanosecond."""
        score = _score(row_from_entry(entry), by_reference=self.by_reference)
        assert score is not None
        return score

    def _low_score(self, entry: HistoryEntry) -> float:
        return self.score(entry).low

    def _judge_against(self, other: HistoryEntry, tries: int = 1) -> Judgement:
        latest = self.latest
        assert latest is not None
        return assess_unpaired(
            self.score(latest), self.score(other), between=self.spread, tries=max(tries, 1)
        )


def group_histories(entries: Sequence[HistoryEntry]) -> Iterator[TaskHistory]:
    """Yield the results of a task grouped by comparable conditions, the latest first."""
    for _, same in groupby(sorted(entries, key=CONDITIONS), CONDITIONS):
        yield _build_history(tuple(same))


def _build_history(entries: tuple[HistoryEntry, ...]) -> TaskHistory:
    correct = [entry for entry in entries if entry.status == "correct" and entry.kernel_ns]
    rows = {entry.id: row_from_entry(entry) for entry in correct}
    by_reference = bool(correct) and correct[0].ratio is not None
    timed = [
        entry
        for entry in correct
        if _score(rows[entry.id], by_reference=by_reference) is not None
        and (not by_reference or rows[entry.id].reference == rows[correct[0].id].reference)
    ]
    # The latest result is judged: it must not widen its own interval.
    spread = estimate_source_spread(timed[1:], by_reference=by_reference)
    return TaskHistory(entries, tuple(timed), by_reference, spread)


def estimate_source_spread(entries: Sequence[HistoryEntry], *, by_reference: bool) -> RunSpread:
    """Estimate the deviation between runs of one source, from comparable results."""
    repeated: dict[tuple[object, ...], list[Interval]] = {}
    for entry in entries:
        score = _score(row_from_entry(entry), by_reference=by_reference)
        if score is not None:
            same = (entry.source_hash, *sorted(entry.tunables.items()))
            repeated.setdefault(same, []).append(score)
    return estimate_run_spread(list(repeated.values()))


def _score(row: ComparedRow, *, by_reference: bool) -> Interval | None:
    if by_reference:
        return row.ratio
    return None if row.time_ns is None else row.time_ns.map(lambda time_ns: 1.0 / time_ns)
