"""Records of predicted work and measured time of stored results, to improve the calibration.

A record has no name, no source and no path: the chip, its cores, the element type, the time and the
work of each dispatch. A device that does not report its cores has 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from metalbench.chips import chip_key
from metalbench.errors import DeclarationError, Unsupported
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.profiling.gpu_chips import GPU_CHIPS, make_gpu_chip
from metalbench.profiling.prediction import measure_kernel, predict_works
from metalbench.store.history import HistoryEntry
from metalbench.store.result import Status

METAL = "metal"


@dataclass(frozen=True)
class CalibrationRecord:
    """A measured time in seconds, the predicted one, and the work of each dispatch."""

    chip: str
    cores: int
    dtype: str
    measured_s: float
    predicted_s: float
    dispatches: tuple[dict[str, float], ...]

    def record(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {
            "chip": self.chip,
            "cores": self.cores,
            "dtype": self.dtype,
            "measured_s": self.measured_s,
            "predicted_s": self.predicted_s,
            "dispatches": list(self.dispatches),
        }


def find_chip_name(device: str) -> str:
    """Return the name of a chip in GPU_CHIPS for a device such as "Apple M2 Pro", or ""."""
    name = chip_key(device)
    return name if name in GPU_CHIPS else ""


def choose_results(
    results: Iterable[HistoryEntry], find_hash: Callable[[str], str]
) -> Iterator[HistoryEntry]:
    """Yield the latest result of each size and element type on each Mac's GPU.

    Only correct results of the kernel's present text count, on a chip that the model knows.
    `find_hash` returns the hash of that text for a chip in GPU_CHIPS.
    """
    seen: set[tuple[str, int, str, str]] = set()
    for each in results:
        key = each.device_name, each.device_cores, each.size, each.dtype
        usable = each.status == Status.CORRECT and each.kernel_ns is not None
        chip = find_chip_name(each.device_name) if each.device_kind == METAL else ""
        if usable and chip and each.source_hash == find_hash(chip) and key not in seen:
            seen.add(key)
            yield each


def make_records(
    entry: Entry, results: Iterable[HistoryEntry], skip: Callable[[str], None]
) -> Iterator[CalibrationRecord]:
    """Yield a record for each usable result of a task. Raise DeclarationError without its kernel.

    `skip` takes the reason why a result has no record: its code cannot be predicted.
    """

    @cache
    def find_kernel(chip: str) -> Kernel:
        return entry.kernel(GPU_CHIPS[chip].target)

    for each in choose_results(results, lambda chip: find_kernel(chip).hash):
        name = find_chip_name(each.device_name)
        chip = make_gpu_chip(name, each.device_cores)
        try:
            works = measure_kernel(
                find_kernel(name),
                entry.task,
                each.size,
                dtype_name=each.dtype,
                tunables=each.tunables or None,
            )
        except (Unsupported, DeclarationError) as error:
            skip(str(error).partition("\n")[0])
            continue
        assert each.kernel_ns is not None
        yield CalibrationRecord(
            name,
            each.device_cores,
            each.dtype,
            1e-9 * each.kernel_ns.value,
            predict_works("", each.size, chip, works).seconds,
            tuple(work.work.record() for work in works),
        )
