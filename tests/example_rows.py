"""Rows of runs, as those that are compared have them."""

from __future__ import annotations

from metalbench.compare.results import ComparedRow, ResultSet
from metalbench.stats import Interval
from metalbench.store.history import HistoryEntry


def about(value: float, half_width: float = 0.004) -> Interval:
    return Interval(value, value / (1 + half_width), value * (1 + half_width))


def row(task: str = "softmax", time_ns: float = 1000.0, ratio: float | None = None) -> ComparedRow:
    return ComparedRow(
        task=task,
        dtype="float32",
        size="seed",
        sizes={"n": 4096},
        status="correct",
        mode="warm",
        engine="fibers",
        clock=None,
        source_hash="abc",
        reference=(None, "0.32"),
        time_ns=about(time_ns),
        ratio=None if ratio is None else about(ratio),
    )


def kept(row: ComparedRow, run: int) -> HistoryEntry:
    """`row` as the store has it of another run."""
    return HistoryEntry(
        id=run,
        run=run,
        recorded_at="2030-01-01T10:00:00+00:00",
        device_kind="cpu",
        device_name="Example CPU",
        task=row.task,
        size=row.size,
        dtype=row.dtype,
        kernel="softmax.metal",
        source_hash=row.source_hash,
        status=row.status,
        verdict="SAME",
        mode=row.mode,
        engine=row.engine,
        clock=row.clock,
        p_value=1.0,
        revision=None,
        mlx=row.reference[1],
        form=row.reference[0],
        tunables={},
        sizes=row.sizes,
        kernel_ns=row.time_ns,
        reference_ns=None,
        ratio=row.ratio,
        gpu_ns=None,
    )


def results(
    name: str, *rows: ComparedRow, others: int = 8, device: str = "cpu (Example CPU)"
) -> ResultSet:
    """Return a run of which `count` others are known, which all gave the same."""
    repeated = {row.key: tuple(kept(row, run) for run in range(others)) for row in rows}
    return ResultSet(name, device, rows, repeated)
