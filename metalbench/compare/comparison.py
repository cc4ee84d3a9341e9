"""Compare two runs kernel by kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from metalbench.compare.results import (
    ComparedRow,
    Key,
    ResultSet,
    TaskHistory,
    estimate_source_spread,
    group_histories,
    index_rows,
    row_from_entry,
)
from metalbench.errors import DeclarationError
from metalbench.stats import Interval, Judgement, Verdict, assess_suite, geometric_mean
from metalbench.stats.unpaired import UNREPEATED, RunSpread, assess_unpaired
from metalbench.store.history import HistoryEntry
from metalbench.store.store import Store

BY_REFERENCE = "MLX"
BY_TIME = "time"
BY_PAIRS = "pairs"
# The status of a correct result, as the store and files have it.
CORRECT = "correct"
WARM = "warm"


@dataclass(frozen=True, slots=True)
class ComparedKernel:
    """One kernel before and after. The judgement's ratio is above 1 if `after` is faster.

    `by` is the basis of the ratio: "MLX" (each run's ratio to MLX, so that a slower machine
    cancels), "time" (the times themselves), or "pairs" (both ran in alternation). `between` is the
    between-run deviation that the ratio's interval includes; None for pairs.
    """

    task: str
    dtype: str
    size: str
    before_ns: Interval
    after_ns: Interval
    same_source: bool
    by: str
    judgement: Judgement
    between: RunSpread | None = None


@dataclass(frozen=True, slots=True)
class IncorrectKernel:
    """A kernel of `after` that has no ratio because it is not correct on at least one side.

    `before` and `after` are the statuses of its results; `before` is None if that side has none.
    """

    task: str
    dtype: str
    size: str
    before: str | None
    after: str
    before_ns: Interval | None = None
    after_ns: Interval | None = None

    @property
    def is_broken(self) -> bool:
        """Whether it is not correct in `after`. Otherwise it was repaired."""
        return self.after != CORRECT

    def describe(self, before: str) -> str:
        """Return ``correct now, incorrect in base: nothing to compare``."""
        return f"{self.after} now, {self.before or 'not'} in {before}: nothing to compare"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Every kernel that both sides have, and the reasons why others are left out.

    `is_itself` is whether both sides are the same run of the store.
    """

    before: str
    after: str
    device: str
    mode: str
    compared: tuple[ComparedKernel, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    incorrect: tuple[IncorrectKernel, ...] = ()
    is_itself: bool = False

    @property
    def broken(self) -> tuple[IncorrectKernel, ...]:
        """The kernels that are not correct in `after`."""
        return tuple(each for each in self.incorrect if each.is_broken)

    @property
    def mean(self) -> Interval | None:
        """Geometric mean of the ratios that have an interval; None if fewer than two do."""
        all_ratios = [each.judgement.ratio for each in self.compared]
        ratios = [each for each in all_ratios if None not in each.useful_ends]
        return geometric_mean(ratios) if len(ratios) > 1 else None

    def has_verdict(self, verdict: Verdict) -> bool:
        """Return whether some kernel has that verdict."""
        return any(each.judgement.verdict is verdict for each in self.compared)


def compare(before: ResultSet, after: ResultSet) -> RunComparison:
    """Judge every kernel that both sets have, with control of the false discovery rate.

    Raises
    ------
    DeclarationError
        If devices, modes or sizes differ, so that times are not comparable; or if both sets have
        a task in common, and nothing to compare: other sizes, types or clocks. Sets without a
        common task have an empty comparison.
    """
    _expect_equal("device", "", (before.name, before.device), (after.name, after.device))
    older, newer = index_rows(before.rows), index_rows(after.rows)
    compared, left_out, incorrect = [], [], []
    keys = dict.fromkeys((*older, *newer))
    for key in keys:
        without_time = _find_incorrect(older.get(key), newer.get(key))
        if without_time is not None:
            incorrect.append(without_time)
            continue
        missing = _explain_missing(older.get(key), newer.get(key), before.name, after.name)
        if missing is not None:
            left_out.append((_name(key, keys), missing))
            continue
        _check(before.name, older[key], after.name, newer[key])
        # The judged result must not widen its own interval.
        others = after.others.get(key) or before.others.get(key) or ()
        compared.append(_compare_rows(older[key], newer[key], others))
    if not compared and not incorrect and ({key[0] for key in older} & {key[0] for key in newer}):
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise DeclarationError(
            f"{before.name} and {after.name} have no kernel in common that was timed: {reasons}"
        )
    judgements = assess_suite([each.judgement for each in compared])
    judged = zip(compared, judgements, strict=True)
    return RunComparison(
        before=before.name,
        after=after.name,
        device=before.device,
        mode=next((each.mode for each in (*after.rows, *before.rows)), WARM),
        compared=tuple(replace(each, judgement=judgement) for each, judgement in judged),
        left_out=tuple(left_out),
        incorrect=tuple(incorrect),
        is_itself=before.run is not None and before.run == after.run,
    )


def _find_incorrect(older: ComparedRow | None, newer: ComparedRow | None) -> IncorrectKernel | None:
    """Return a kernel of the newer set that is not correct on one of both sides."""
    if newer is None or {newer.status, CORRECT if older is None else older.status} == {CORRECT}:
        return None
    before, before_ns = (None, None) if older is None else (older.status, older.time_ns)
    return IncorrectKernel(*newer.key, before, newer.status, before_ns, newer.time_ns)


def _compare_rows(
    older: ComparedRow, newer: ComparedRow, others: Sequence[HistoryEntry]
) -> ComparedKernel:
    assert older.time_ns is not None
    assert newer.time_ns is not None
    if older.ratio is not None and newer.ratio is not None and older.reference == newer.reference:
        same = [each for each in others if row_from_entry(each).reference == newer.reference]
        between = estimate_source_spread(same, by_reference=True)
        by, judgement = BY_REFERENCE, assess_unpaired(newer.ratio, older.ratio, between=between)
    else:
        between = estimate_source_spread(others, by_reference=False)
        by, judgement = BY_TIME, assess_unpaired(older.time_ns, newer.time_ns, between=between)
    return ComparedKernel(
        task=newer.task,
        dtype=newer.dtype,
        size=newer.size,
        before_ns=older.time_ns,
        after_ns=newer.time_ns,
        same_source=older.source_hash == newer.source_hash,
        by=by,
        judgement=judgement,
        between=between,
    )


def _explain_missing(
    older: ComparedRow | None, newer: ComparedRow | None, before: str, after: str
) -> str | None:
    """Return why a kernel cannot be compared; None if it can."""
    clocks = []
    for row, name in ((older, before), (newer, after)):
        if row is None:
            return f"not in {name}"
        if row.time_ns is None:
            return f"no time in {name}"
        clocks.append(f"{row.clock or 'one clock'} in {name}")
    # The clock depends on the GPU's data: one kernel must not prevent the comparison of the others.
    if older is not None and newer is not None and older.clock != newer.clock:
        return f"verdicts of different clocks do not compare: {', '.join(clocks)}"
    return None


def _check(before: str, older: ComparedRow, after: str, newer: ComparedRow) -> None:
    for what, first, second in _conditions(older, newer):
        _expect_equal(what, f"[{older.task}] ", (before, first), (after, second))


def _conditions(older: ComparedRow, newer: ComparedRow) -> Iterator[tuple[str, str, str]]:
    yield "mode", older.mode, newer.mode
    yield "engine", older.engine, newer.engine
    yield "size", _size(older), _size(newer)


def _size(row: ComparedRow) -> str:
    extents = ", ".join(f"{name} {extent}" for name, extent in sorted(row.sizes.items()))
    return f"{row.size} ({extents})"


def _expect_equal(what: str, where: str, first: tuple[str, str], second: tuple[str, str]) -> None:
    if first[1] != second[1]:
        raise DeclarationError(
            f"{where}expected the same {what} in both, got {first[1]} in {first[0]} and "
            f"{second[1]} in {second[0]}; such times do not compare: run both alike"
        )


def _name(key: Key, others: Collection[Key]) -> str:
    """Return the task, with what distinguishes the kernel from others."""
    task, dtype, size = key
    sizes = {each[2] for each in others if each[:2] == (task, dtype)}
    about = [dtype] if dtype != "float32" else []
    about += [size] if len(sizes) > 1 else []
    return f"{task} ({', '.join(about)})" if about else task


# Find regressions: a run against a baseline, or each kernel against its history.

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
    `comparison` is that with the baseline, if there is one.
    """

    regressed: tuple[Regression, ...] = ()
    inconclusive: tuple[Regression, ...] = ()
    cleared: tuple[Regression, ...] = ()
    compared: int = 0
    comparison: RunComparison | None = None

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
    comparison = None
    if baseline is None:
        found = list(_compare_with_histories(store, run, allowed, without))
    else:
        after = _read_run(store, run, without)
        comparison = compare(baseline, after)
        found = list(_list_comparisons(baseline, after, comparison))
    states = [(each, each.state(allowed)) for each in found]
    return RegressionOutcome(
        regressed=tuple(each for each, state in states if state is RegressionState.REGRESSED),
        inconclusive=tuple(each for each, state in states if state is RegressionState.INCONCLUSIVE),
        compared=len(found),
        comparison=comparison,
    )


def _is_slower(judgement: Judgement, limit: float) -> bool:
    return judgement.verdict is Verdict.SLOWER and judgement.ratio.high < limit


def _read_run(store: Store, run: int, without: Collection[int]) -> ResultSet:
    """Read a run; its between-run deviations are of runs that are not in `without`.

    A suspected result must not widen the between-run deviation.
    """
    after = ResultSet.of_run(store, run, f"run:{run}")
    others = {
        key: tuple(each for each in several if each.run not in without)
        for key, several in after.others.items()
    }
    return replace(after, others=others)


def _list_comparisons(
    baseline: ResultSet, after: ResultSet, comparison: RunComparison
) -> Iterator[Regression]:
    throttled = {
        each.key: _THROTTLED.format(rows.name)
        for rows in (baseline, after)
        for each in rows.rows
        if each.verdict == Verdict.THROTTLED.value
    }
    for each in comparison.compared:
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
