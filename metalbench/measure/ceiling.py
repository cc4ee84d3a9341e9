"""Measure the ceilings of a device, which no kernel exceeds by far, and cache them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.measure.roofs import cores_of, roofs_of
from metalbench.msl.building import cache

if TYPE_CHECKING:
    from metalbench._core import Device, Library

SOURCE = Path(__file__).with_name("ceiling.metal")
# Constants of ceiling.metal.
LANES, CHAINS, NEAR_FLOATS = 16, 8, 4096
THREADS, THREADGROUPS_A_CORE, STEPS = 32, 8, 256
# Short windows, so that other programs do not disturb all of them.
WINDOWS = 100


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Rates of multiply-adds in registers in GFLOP/s, and of loads from the L1 cache in GB/s."""

    gflops: float
    gbytes_per_s: float


def ceiling_of(device: Device, *, again: bool = False) -> Ceiling:
    """Return the ceiling of `device`, from the build cache if known; `again` keeps the higher one.

    Raises MachineError when the cache cannot be written.
    """
    text = SOURCE.read_text(encoding="utf-8")
    key = cache.digest("ceiling", text, device.kind, device.name, str(device.cores))
    known = cache.load(key)
    if known is not None and not again:
        return Ceiling(**known)
    library = device.compile(text, filename=str(SOURCE), fast_math=True)
    found = Ceiling(_gflops(device, library), _gbytes_per_s(device, library))
    roofs = roofs_of(device)
    if roofs is not None:
        # Loads that are not coalesced are slow on such a GPU.
        found = replace(found, gbytes_per_s=max(found.gbytes_per_s, roofs.cache_gbytes_per_s))
    if known is not None:
        before = Ceiling(**known)
        found = Ceiling(
            max(found.gflops, before.gflops), max(found.gbytes_per_s, before.gbytes_per_s)
        )
    cache.store(key, {"gflops": found.gflops, "gbytes_per_s": found.gbytes_per_s})
    return found


def _gflops(device: Device, library: Library) -> float:
    flops_a_step = 2 * LANES * CHAINS
    return _most_a_ns(device, library, "multiply_adds", {}) * flops_a_step


def _gbytes_per_s(device: Device, library: Library) -> float:
    bytes_a_step = 4 * LANES * CHAINS
    near = np.ones(NEAR_FLOATS, np.float32)
    return _most_a_ns(device, library, "loads", {"near": near}) * bytes_a_step


def _most_a_ns(device: Device, library: Library, name: str, values: dict[str, Any]) -> float:
    """Return the steps of all threads per nanosecond, in the fastest of several windows."""
    from metalbench import _core

    threads = cores_of(device) * THREADGROUPS_A_CORE * THREADS
    bound = {**values, "end": device.allocate(4 * threads), "steps": STEPS}
    dispatch = _core.Dispatch(
        library.pipeline(name), bound, threads_in_grid=(threads, 1, 1), threads=(THREADS, 1, 1)
    )
    return threads * STEPS / min(device.run([dispatch]) for _ in range(WINDOWS))
