"""Find regressions: a run against a baseline, or each kernel against its history."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from metalbench.comparison.compare import compare
from metalbench.comparison.past import TaskHistory, group_histories
from metalbench.comparison.result_set import Key, ResultSet, row_from_entry
from metalbench.stats import Interval, Judgement, Verdict
from metalbench.stats.apart import UNREPEATED, assess_unpaired
from metalbench.store import HistoryEntry, Store

# Earlier results of a task among which the best is found.
MOST_RESULTS = 200
# The reason for a missing verdict in the judged run or in the earlier one.
_THROTTLED = "the machine was throttled in {}"


class RegressionState(Enum):
    """The outcome of a comparison with an earlier result."""

    NOT_SLOWER = "not slower"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Regression:
    """One kernel compared with an earlier result.

    `judgement` is that of the basis of comparison, mostly the ratio to MLX; `own` is that of the
    kernel's times, before / after. `against` names the earlier result, `reason` explains an
    inconclusive comparison. `same_source` is whether the hashes of source and headers are equal.
    `suspected` has the first judgement of a kernel that was measured again.
    """

    task: str
    dtype: str
    size: str
    against: str
    judgement: Judgement
    own: Judgement
    same_source: bool = False
    reason: str = ""
    suspected: Judgement | None = None

    @property
    def key(self) -> Key:
        """Task, element type and size."""
        return self.task, self.dtype, self.size

    def state(self, allowed: float) -> RegressionState:
        """Return the state if a kernel may take `allowed` (0.05: 5 %) longer.

        A kernel has regressed if both the ratio and its time have, each by its whole interval: a
        reference that became faster does not make a kernel slower.
        """
        limit = 1 / (1 + allowed)
        if self.reason:
            return RegressionState.INCONCLUSIVE
        if _is_slower(self.judgement, limit):
            if _is_slower(self.own, limit):
                return RegressionState.REGRESSED
            return (
                RegressionState.INCONCLUSIVE
                if self.own.ratio.value < limit
                else RegressionState.NOT_SLOWER
            )
        is_open = (
            self.judgement.verdict is Verdict.INCONCLUSIVE and self.judgement.ratio.low < limit
        )
        # If the ratio is undecided, the time decides: not slower by its whole interval.
        if is_open and not (self.own.ratio.is_bounded and self.own.ratio.low >= limit):
            return RegressionState.INCONCLUSIVE
        return RegressionState.NOT_SLOWER


@dataclass(frozen=True, slots=True)
class RegressionOutcome:
    """The outcome of a search for regressions.

    `cleared` are kernels that looked slower at first, and not when they were measured again.
    """

    regressed: tuple[Regression, ...] = ()
    inconclusive: tuple[Regression, ...] = ()
    cleared: tuple[Regression, ...] = ()
    compared: int = 0

    def after_another_run(self, again: RegressionOutcome) -> RegressionOutcome:
        """Return the outcome after suspected kernels were measured again, with outcome `again`.

        A kernel has regressed only if it has in both.
        """
        confirmed = {each.key: each for each in again.regressed}
        unclear = {each.key: each for each in again.inconclusive}
        regressed, cleared, inconclusive = [], [], list(self.inconclusive)
        for each in self.regressed:
            if each.key in confirmed:
                found = replace(confirmed[each.key], suspected=each.judgement)
                regressed.append(replace(found, against=each.against))
            elif each.key in unclear:
                inconclusive.append(replace(unclear[each.key], suspected=each.judgement))
            else:
                cleared.append(each)
        return replace(
            self,
            regressed=tuple(regressed),
            inconclusive=tuple(inconclusive),
            cleared=(*self.cleared, *cleared),
        )


def find_regressions(
    store: Store,
    run: int,
    *,
    baseline: ResultSet | None = None,
    allowed: float = 0.0,
    without: Collection[int] = (),
) -> RegressionOutcome:
    """Compare the kernels of run number `run` with `baseline`, or with their histories.

    From a history the previous and the best result count, of runs that are not in `without`. A
    kernel may take `allowed` longer. Raises MetalBenchError if run and baseline are not comparable.
    """
    if baseline is None:
        found = list(_compare_with_histories(store, run, allowed, without))
    else:
        found = list(_compare_with_baseline(store, run, baseline, without))
    states = [(each, each.state(allowed)) for each in found]
    return RegressionOutcome(
        regressed=tuple(each for each, state in states if state is RegressionState.REGRESSED),
        inconclusive=tuple(each for each, state in states if state is RegressionState.INCONCLUSIVE),
        compared=len(found),
    )


def _is_slower(judgement: Judgement, limit: float) -> bool:
    return judgement.verdict is Verdict.SLOWER and judgement.ratio.high < limit


def _compare_with_baseline(
    store: Store, run: int, baseline: ResultSet, without: Collection[int]
) -> Iterator[Regression]:
    after = ResultSet.of_run(store, run, f"run:{run}")
    # A suspected result must not widen the between-run deviation.
    others = {
        key: tuple(each for each in several if each.run not in without)
        for key, several in after.others.items()
    }
    after = replace(after, others=others)
    throttled = {
        each.key: _THROTTLED.format(rows.name)
        for rows in (baseline, after)
        for each in rows.rows
        if each.verdict == Verdict.THROTTLED.value
    }
    for each in compare(baseline, after).compared:
        own = each.judgement if each.by == "time" else _judge_times(each.before_ns, each.after_ns)
        key = (each.task, each.dtype, each.size)
        yield Regression(
            *key, baseline.name, each.judgement, own, each.same_source, throttled.get(key, "")
        )


def _judge_times(before: Interval, after: Interval) -> Judgement:
    return assess_unpaired(before, after, between=UNREPEATED)


def _compare_with_histories(
    store: Store, run: int, allowed: float, without: Collection[int]
) -> Iterator[Regression]:
    for task in dict.fromkeys(entry.task for entry in store.results(run)):
        entries = [each for each in store.history(task, MOST_RESULTS) if each.run not in without]
        for past in group_histories(entries):
            if past.latest is not None and past.latest.run == run:
                yield from _compare_latest(past, allowed)


def _compare_latest(past: TaskHistory, allowed: float) -> Iterator[Regression]:
    """Yield the most severe comparison: a regression, else an inconclusive one."""
    latest = past.latest
    assert latest is not None
    judged = (
        ("the result before", past.timed[1:2], past.against_previous),
        ("its best", [past.best], past.against_best),
    )
    found = (
        [
            _compare_entries(latest, earlier, against, judgement)
            for against, (earlier, *_), judgement in judged
            if judgement is not None and earlier is not None
        ]
        if len(past.timed) > 1
        else []
    )
    for wanted in (
        RegressionState.REGRESSED,
        RegressionState.INCONCLUSIVE,
        RegressionState.NOT_SLOWER,
    ):
        for each in found:
            if each.state(allowed) is wanted:
                yield each
                return


def _compare_entries(
    latest: HistoryEntry, earlier: HistoryEntry, against: str, judgement: Judgement
) -> Regression:
    after, before = row_from_entry(latest), row_from_entry(earlier)
    assert after.time_ns is not None
    assert before.time_ns is not None
    reason = ""
    for row, name in ((before, against), (after, "this run")):
        if row.verdict == Verdict.THROTTLED.value:
            reason = _THROTTLED.format(name)
    return Regression(
        latest.task,
        latest.dtype,
        latest.size,
        against,
        judgement,
        _judge_times(before.time_ns, after.time_ns),
        before.source_hash == after.source_hash,
        reason,
    )
