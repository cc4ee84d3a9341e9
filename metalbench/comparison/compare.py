"""Compare two runs kernel by kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from metalbench.comparison.past import estimate_source_spread
from metalbench.comparison.result_set import ComparedRow, Key, ResultSet, index_rows, row_from_entry
from metalbench.errors import DeclarationError
from metalbench.stats import Interval, Judgement, Verdict, assess_suite, geometric_mean
from metalbench.stats.apart import RunSpread, assess_unpaired
from metalbench.store import HistoryEntry

BY_REFERENCE = "MLX"
BY_TIME = "time"
BY_PAIRS = "pairs"


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
class Comparison:
    """Every kernel that both sides have, and the reasons why others are left out."""

    before: str
    after: str
    device: str
    mode: str
    compared: tuple[ComparedKernel, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def mean(self) -> Interval | None:
        """Geometric mean of the ratios that have an interval; None if fewer than two do."""
        all_ratios = [each.judgement.ratio for each in self.compared]
        ratios = [each for each in all_ratios if None not in each.useful_ends]
        return geometric_mean(ratios) if len(ratios) > 1 else None

    def has_verdict(self, verdict: Verdict) -> bool:
        """Return whether some kernel has that verdict."""
        return any(each.judgement.verdict is verdict for each in self.compared)


def compare(before: ResultSet, after: ResultSet) -> Comparison:
    """Judge every kernel that both sets have, with control of the false discovery rate.

    Raises
    ------
    DeclarationError
        If devices, modes or sizes differ, so that times are not comparable; or if no kernel is in
        both sets, with ratios of one clock.
    """
    _expect_equal("device", "", (before.name, before.device), (after.name, after.device))
    older, newer = index_rows(before.rows), index_rows(after.rows)
    compared, left_out = [], []
    keys = dict.fromkeys((*older, *newer))
    for key in keys:
        missing = _explain_missing(older.get(key), newer.get(key), before.name, after.name)
        if missing is not None:
            left_out.append((_name(key, keys), missing))
            continue
        _check(before.name, older[key], after.name, newer[key])
        # The judged result must not widen its own interval.
        others = after.others.get(key) or before.others.get(key) or ()
        compared.append(_compare_rows(older[key], newer[key], others))
    if not compared:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out[:3]) or "both are empty"
        raise DeclarationError(
            f"{before.name} and {after.name} have no kernel in common that was timed: {reasons}"
        )
    judgements = assess_suite([each.judgement for each in compared])
    judged = zip(compared, judgements, strict=True)
    return Comparison(
        before=before.name,
        after=after.name,
        device=before.device,
        mode=newer[compared[0].task, compared[0].dtype, compared[0].size].mode,
        compared=tuple(replace(each, judgement=judgement) for each, judgement in judged),
        left_out=tuple(left_out),
    )


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
            return f"{row.status} in {name}" if row.status != "correct" else f"no time in {name}"
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
