"""Pairs of predicted work and measured time of stored results, to improve the calibration.

A pair has no name, no source and no path: the chip, its cores, the element type, the time and the
work of each dispatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from metalbench.chips import chip_key
from metalbench.errors import MetalBenchError
from metalbench.kernel.library import Entry
from metalbench.profiling.gpu_chips import GPU_CHIPS
from metalbench.profiling.prediction import measure_kernel, predict_works
from metalbench.store.history import HistoryEntry
from metalbench.store.result import Status

METAL = "metal"


@dataclass(frozen=True)
class Pair:
    """A measured time in seconds, the predicted one, and the work of each dispatch."""

    chip: str
    dtype: str
    measured_s: float
    predicted_s: float
    dispatches: tuple[dict[str, float], ...]

    def record(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        return {
            "chip": self.chip,
            "dtype": self.dtype,
            "measured_s": self.measured_s,
            "predicted_s": self.predicted_s,
            "dispatches": list(self.dispatches),
        }


def find_chip_name(device: str) -> str:
    """Return the name of a chip in GPU_CHIPS for a device such as "Apple M2 Pro", or ""."""
    name = chip_key(device)
    return name if name in GPU_CHIPS else ""


def choose_results(results: Iterable[HistoryEntry], source_hash: str) -> Iterator[HistoryEntry]:
    """Yield the latest result of each size and element type that a Mac's GPU has measured.

    Only correct results of the kernel's present text count, on a chip that the model knows.
    """
    seen: set[tuple[str, str, str]] = set()
    for each in results:
        key = each.device_name, each.size, each.dtype
        usable = each.status == Status.CORRECT and each.kernel_ns is not None
        known = each.device_kind == METAL and find_chip_name(each.device_name)
        if usable and known and each.source_hash == source_hash and key not in seen:
            seen.add(key)
            yield each


def make_pairs(entry: Entry, results: Iterable[HistoryEntry]) -> Iterator[Pair]:
    """Yield a pair for each usable result of a task; code that cannot be predicted has none."""
    kernel = entry.kernel()
    for each in choose_results(results, kernel.hash):
        name = find_chip_name(each.device_name)
        try:
            works = measure_kernel(
                kernel,
                entry.task,
                each.size,
                dtype_name=each.dtype,
                tunables=each.tunables or None,
            )
        except MetalBenchError:
            continue
        assert each.kernel_ns is not None
        yield Pair(
            name,
            each.dtype,
            1e-9 * each.kernel_ns.value,
            predict_works("", each.size, GPU_CHIPS[name], works).seconds,
            tuple(work.work.record() for work in works),
        )
