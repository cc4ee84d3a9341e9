"""What a GPU's arithmetic, its cache and its memory give at most.

It is measured by kernels that do one thing alone, once, and kept beside what is compiled.
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
# As in the kernels.
CHAINS, PARTS = 16, 8
THREADS, THREADGROUPS_A_CORE, STEPS = 256, 8, 256
# Of an M1.
FEWEST_CORES = 7
# Of each, long enough for the clock to rise.
PLAN: Mapping[str, Any] = {
    "warmup_ns": 2e7,
    "window_ns": 1e6,
    "min_pairs": 5,
    "max_pairs": 20,
    "time_limit_ns": 2e8,
}


@dataclass(frozen=True, slots=True)
class Roofs:
    """Multiply-adds in GFLOP/s; bytes that memory and the last-level cache move, in GB/s.

    `float16_gflops` are of pairs in one instruction, as compilers make them; nothing here knows
    units for matrices.
    """

    float32_gflops: float
    float16_gflops: float
    memory_gbytes_per_s: float
    cache_gbytes_per_s: float


def roofs_of(device: Device) -> Roofs | None:
    """The roofs of `device`, from the cache if they are known; None if it does not tell its cache.

    Raises MachineError when nothing can be written to the cache of compiled kernels.
    """
    cache_bytes = device.capabilities.get("l2_bytes")
    if not isinstance(cache_bytes, int):
        return None
    text = SOURCE.read_text(encoding="utf-8")
    facts = repr(sorted(device.capabilities.items()))
    key = cache.digest("roofs", text, device.kind, device.name, str(device.cores), facts)
    known = cache.load(key)
    if known is None:
        known = asdict(_measured(device, cache_bytes))
        cache.store(key, known)
    return Roofs(**known)


def _measured(device: Device, cache_bytes: int) -> Roofs:
    library = device.compile(SOURCE.read_text(encoding="utf-8"), filename=str(SOURCE))
    return Roofs(
        float32_gflops=_gflops(device, library, "in_float32"),
        float16_gflops=_gflops(device, library, "in_float16"),
        memory_gbytes_per_s=_gbytes_per_s(device, library, OF_CACHE * cache_bytes),
        # Both ends of a copy, and room for what else is in there.
        cache_gbytes_per_s=_gbytes_per_s(device, library, cache_bytes // 4),
    )


def cores_of(device: Device) -> int:
    """Return the number of cores, or that of the smallest Mac for virtual GPUs, which tell none."""
    return device.cores or FEWEST_CORES


def _gflops(device: Device, library: Library, name: str) -> float:
    threads = cores_of(device) * THREADGROUPS_A_CORE * THREADS
    values = {"end": device.allocate(4 * threads), "steps": STEPS}
    flops = 2 * 2 * CHAINS * STEPS * threads
    return flops / _least_ns(device, library, name, values, threads)


def _gbytes_per_s(device: Device, library: Library, nbytes: int) -> float:
    """The most of what copies of so many bytes, and a read of them, come to."""
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
    """A pass in the fastest of several windows."""
    from metalbench import _core

    dispatch = _core.Dispatch(
        library.pipeline(name), dict(values), threads_in_grid=threads, threads=THREADS
    )
    return float(min(device.sample([dispatch], **PLAN).candidate_ns))
