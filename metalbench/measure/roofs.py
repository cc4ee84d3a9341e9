"""Measure the peak rates of a GPU's arithmetic, cache and memory; keep them in the build cache.

Each kernel of roofs.metal uses one resource only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.measure.cache import OF_CACHE
from metalbench.msl.building import cache

if TYPE_CHECKING:
    from metalbench._core import Device, Library

SOURCE = Path(__file__).with_name("roofs.metal")
# Constants of roofs.metal.
CHAINS, PARTS = 16, 8
THREADS, THREADGROUPS_A_CORE, STEPS = 256, 8, 256
# Cores of an M1.
FEWEST_CORES = 7
# Sampling of each kernel, long enough for the clock to rise.
PLAN: Mapping[str, Any] = {
    "warmup_ns": 2e7,
    "window_ns": 1e6,
    "min_pairs": 5,
    "max_pairs": 20,
    "time_limit_ns": 2e8,
}


@dataclass(frozen=True, slots=True)
class Roofs:
    """Rates of multiply-adds in GFLOP/s, and of memory and the last-level cache in GB/s.

    `float16_gflops` is of packed pairs in one instruction. Matrix units are not used.
    """

    float32_gflops: float
    float16_gflops: float
    memory_gbytes_per_s: float
    cache_gbytes_per_s: float


def roofs_of(device: Device) -> Roofs | None:
    """Return the roofs of `device`; None if the size of its cache is unknown.

    Raises MachineError if the build cache cannot be written.
    """
    cache_bytes = device.capabilities.get("l2_bytes")
    if not isinstance(cache_bytes, int):
        return None
    text = SOURCE.read_text(encoding="utf-8")
    facts = repr(sorted(device.capabilities.items()))
    key = cache.digest("roofs", text, device.kind, device.name, str(device.cores), facts)
    known = cache.load(key)
    if known is None:
        known = asdict(_measure_roofs(device, cache_bytes))
        cache.store(key, known)
    return Roofs(**known)


def _measure_roofs(device: Device, cache_bytes: int) -> Roofs:
    library = device.compile(SOURCE.read_text(encoding="utf-8"), filename=str(SOURCE))
    return Roofs(
        float32_gflops=_gflops(device, library, "in_float32"),
        float16_gflops=_gflops(device, library, "in_float16"),
        memory_gbytes_per_s=_gbytes_per_s(device, library, OF_CACHE * cache_bytes),
        # Source and target of a copy, with space for other data.
        cache_gbytes_per_s=_gbytes_per_s(device, library, cache_bytes // 4),
    )


def cores_of(device: Device) -> int:
    """Return the number of cores; of virtual GPUs, which report none, that of the smallest Mac."""
    return device.cores or FEWEST_CORES


def _gflops(device: Device, library: Library, name: str) -> float:
    threads = cores_of(device) * THREADGROUPS_A_CORE * THREADS
    values = {"end": device.allocate(4 * threads), "steps": STEPS}
    flops = 2 * 2 * CHAINS * STEPS * threads
    return flops / _least_ns(device, library, name, values, threads)


def _gbytes_per_s(device: Device, library: Library, nbytes: int) -> float:
    """Return the higher rate of copies and of a read of `nbytes`."""
    threads = nbytes // (16 * PARTS * THREADS) * THREADS
    nbytes = threads * PARTS * 16
    source, target = device.allocate(nbytes), device.allocate(nbytes)
    values = {"from": source, "to": target}
    copied_ns = min(
        _least_ns(device, library, "copies", values, threads * PARTS),
        _least_ns(device, library, "copies_of_parts", values, threads),
    )
    read_ns = _least_ns(device, library, "reads", {"from": source, "end": target}, threads)
    return max(2 * nbytes / copied_ns, nbytes / read_ns)


def _least_ns(
    device: Device, library: Library, name: str, values: Mapping[str, Any], threads: int
) -> float:
    """Return the time in ns of a pass in the fastest of several windows."""
    from metalbench import _core

    dispatch = _core.Dispatch(
        library.pipeline(name), dict(values), threads_in_grid=threads, threads=THREADS
    )
    return float(min(device.sample([dispatch], **PLAN).candidate_ns))
