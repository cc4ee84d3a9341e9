"""A device's limits: cache sizes, copies that exceed them, and measured ceilings."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench import build_cache
from metalbench.chips import SIMD_WIDTH
from metalbench.msl.frontend.standards import define_version

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch, Library, Pipeline


MIB = 1 << 20
# A multiple of the cache's size that is cold even if its replacement is not least recently used.
OF_CACHE = 3
OF_MEMORY = 4
# More copies take longer to bind than to measure.
MOST_COPIES = 4096
# System-level caches, which GPU and CPU of a chip share. Values are measured on M1 and M2.
SYSTEM_LEVEL = {"": 8 * MIB, "_pro": 24 * MIB, "_max": 48 * MIB, "_ultra": 96 * MIB}
LARGEST_KNOWN = max(SYSTEM_LEVEL.values())
LINUX = Path("/sys/devices/system/cpu/cpu0/cache")


def last_level_cache_bytes(chip: str | None, *, linux: Path = LINUX) -> int:
    """Return the size in bytes of the last-level cache.

    Parameters
    ----------
    chip
        Chip of a Metal device, such as "m2_max"; None if kernels run on the host's CPU.
    linux
        Folder in which Linux describes the caches of a CPU.

    An unknown cache counts as the largest of Apple's.
    """
    if chip is None and sys.platform == "darwin":
        chip = _chip_of_host()
    if chip:
        _, underscore, tier = chip.partition("_")
        return SYSTEM_LEVEL.get(underscore + tier, LARGEST_KNOWN)
    sizes = [_linux_bytes(each) for each in linux.glob("index*/size")]
    return max(sizes, default=LARGEST_KNOWN)


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """The number of copies of inputs and outputs; `doubt` warns of too few copies to be cold."""

    copies: int
    doubt: str | None = None


def plan_rotation(pass_bytes: int, cache_bytes: int, memory_bytes: int | None) -> RotationPlan:
    """Plan copies of `pass_bytes` that make three times the cache, in a quarter of the memory.

    Each side of a pair has its own copies, in an eighth of the memory.
    """
    wanted = math.ceil(OF_CACHE * cache_bytes / pass_bytes)
    room = wanted if memory_bytes is None else memory_bytes // (2 * OF_MEMORY) // pass_bytes
    copies = max(1, min(wanted, room, MOST_COPIES))
    if copies == wanted:
        return RotationPlan(copies)
    return RotationPlan(
        copies,
        f"not quite cold: {copies} copies of the inputs and outputs are "
        f"{copies * pass_bytes / cache_bytes:.1f} times the last-level cache "
        f"({cache_bytes / MIB:.0f} MiB), not {OF_CACHE} times; more are too many, or do not fit "
        "in a quarter of the memory",
    )


def warn_of_two_sets(
    input_bytes: int, output_bytes: int, cache_bytes: int, memory_bytes: int | None
) -> str | None:
    """Return a warning if two alternating sets of inputs cost more than one; None if not."""
    one, two = input_bytes + output_bytes, 2 * input_bytes + output_bytes
    if one <= cache_bytes < two:
        return (
            f"the inputs do not fit the last-level cache: two sets alternate, {two / MIB:.3g} "
            f"MiB with the outputs, of {cache_bytes / MIB:.3g} MiB, where one set would fit "
            f"({one / MIB:.3g} MiB); both sides read them from memory, as after other work"
        )
    if memory_bytes is not None and two > memory_bytes // OF_MEMORY:
        return (
            f"the inputs take more than a quarter of the memory: two sets alternate, with the "
            f"outputs {two / MIB:.0f} MiB of {memory_bytes / MIB:.0f} MiB"
        )
    return None


def _linux_bytes(size: Path) -> int:
    """Parse a size such as ``480K``."""
    text = size.read_text(encoding="ascii").strip()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text.rstrip("KMG")) * units.get(text[-1:], 1)


def _chip_of_host() -> str | None:
    """Return the chip, "m2_max" for ``Apple M2 Max``; None on a Mac with another CPU."""
    asked = subprocess.run(
        ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
    )
    words = asked.stdout.lower().split()
    return "_".join(words[1:]) if words[:1] == ["apple"] else None


# Measure the peak rates of a GPU's arithmetic, cache and memory; keep them in the build cache.
#
# Each kernel of roofs.metal uses one resource only.

ROOFS_SOURCE = Path(__file__).with_name("roofs.metal")
TENSOR_ROOFS_SOURCE = Path(__file__).with_name("tensor_roofs.metal")
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

    `float16_gflops` is of packed pairs in one instruction. Matrix units are not used:
    `tensor_gflops_of` has their rate.
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
    text = ROOFS_SOURCE.read_text(encoding="utf-8")
    facts = repr(sorted(device.capabilities.items()))
    key = build_cache.digest("roofs", text, device.kind, device.name, str(device.cores), facts)
    known = build_cache.load(key)
    if known is None:
        known = asdict(_measure_roofs(device, cache_bytes))
        build_cache.store(key, known)
    return Roofs(**known)


def _measure_roofs(device: Device, cache_bytes: int) -> Roofs:
    library = device.compile(ROOFS_SOURCE.read_text(encoding="utf-8"), filename=str(ROOFS_SOURCE))
    return Roofs(
        float32_gflops=_gflops(device, library, "in_float32"),
        float16_gflops=_gflops(device, library, "in_float16"),
        memory_gbytes_per_s=_gbytes_per_s(device, library, OF_CACHE * cache_bytes),
        # Source and target of a copy, with space for other data.
        cache_gbytes_per_s=_gbytes_per_s(device, library, cache_bytes // 4),
    )


# The products of tensor_roofs.metal by element type: the sides of a tile and its SIMD-groups.
TENSOR_TILES = {"float32": ((64, 4),), "float16": ((64, 4), (128, 8))}
TENSOR_DEPTH = 2048


def tensor_gflops_of(device: Device, dtype: str) -> float:
    """Return the rate in GFLOP/s of matrix products through Metal 4's tensors, measured once.

    16-bit types have the rate of float16. Raises MachineError if the build cache cannot be written,
    and CompileError if the device has no tensors.
    """
    kind = "float32" if dtype == "float32" else "float16"
    text = TENSOR_ROOFS_SOURCE.read_text(encoding="utf-8")
    facts = repr(sorted(device.capabilities.items()))
    key = build_cache.digest(
        "tensor roof", text, kind, device.kind, device.name, str(device.cores), facts
    )
    known = build_cache.load(key)
    if known is None:
        rates = [_tensor_gflops(device, text, kind, *tile) for tile in TENSOR_TILES[kind]]
        known = {"gflops": max(rates)}
        build_cache.store(key, known)
    return float(known["gflops"])


def _tensor_gflops(device: Device, text: str, dtype: str, side: int, simdgroups: int) -> float:
    from metalbench import _core

    library = device.compile(
        text, filename=str(TENSOR_ROOFS_SOURCE), macros=define_version("metal4.0")
    )
    count = cores_of(device) * THREADGROUPS_A_CORE
    operand = TENSOR_DEPTH * side * (4 if dtype == "float32" else 2)
    values = {
        "left": device.allocate(operand),
        "right": device.allocate(operand),
        "end": device.allocate(4 * count * side * side),
        "depth": TENSOR_DEPTH,
    }
    dispatch = _core.Dispatch(
        library.pipeline(f"{dtype}_{side}"),
        values,
        threadgroups=count,
        threads=simdgroups * SIMD_WIDTH,
    )
    flops = 2 * side * side * TENSOR_DEPTH * count
    return flops / float(min(device.sample([dispatch], **PLAN).candidate_ns))


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


# Measure the limits of a device for the roofline of a report.


@dataclass(frozen=True, slots=True)
class Peaks:
    """The limits of a device in GFLOP/s and GB/s, and the source of the numbers.

    `cache_gbytes_per_s` is the rate of its last-level cache, None where it is not known.
    """

    gflops: float
    gbytes_per_s: float
    source: str
    cache_gbytes_per_s: float | None = None


# Copies in memory that exceed larger caches than these would need too much memory.
MOST_COPIED_BYTES = 256 * MIB


def measure_peaks(device: Device, *, with_halves: bool = False, again: bool = True) -> Peaks:
    """Return the measured limits of `device`, from the build cache if they are known.

    `with_halves` allows the rate of half precision, where it is higher than that of float32. Limits
    of a host that were measured while other programs ran are measured `again`.
    Raises MachineError if the build cache cannot be written.
    """
    roofs = roofs_of(device)
    if roofs is not None:
        gflops = roofs.float32_gflops
        kind = "float32"
        if with_halves and roofs.float16_gflops > gflops:
            gflops, kind = roofs.float16_gflops, "float16"
        return Peaks(
            gflops,
            roofs.memory_gbytes_per_s,
            f"measured on this device: multiply-adds in {kind}, copies in memory",
            roofs.cache_gbytes_per_s,
        )
    rates = _host_bandwidths(device, again=again)
    return Peaks(
        ceiling_of(device).gflops,
        rates["memory"],
        "measured on this machine with plain kernels: multiply-adds in float32, copies in memory",
        rates["cache"],
    )


def _host_bandwidths(device: Device, *, again: bool) -> dict[str, float]:
    """Return the rates of copies in memory and in the last-level cache, in GB/s.

    Other programs make them lower. Rates that were measured on a busy machine are measured `again`,
    and the higher ones are kept.
    """
    text = ROOFS_SOURCE.read_text(encoding="utf-8")
    key = build_cache.digest("host bandwidths", text, device.kind, device.name, str(device.cores))
    known = build_cache.load(key)
    if known is not None and (known["quiet"] or not again):
        return dict(known["rates"])
    # The load before these copies, which add to it.
    quiet = _is_quiet(device)
    library = device.compile(text, filename=str(ROOFS_SOURCE))
    cache_bytes = last_level_cache_bytes(device.chip)
    beyond = min(OF_CACHE * cache_bytes, MOST_COPIED_BYTES)
    within = min(cache_bytes, MOST_COPIED_BYTES) // 4
    rates = {
        "memory": _gbytes_per_s(device, library, beyond),
        "cache": _gbytes_per_s(device, library, within),
    }
    if known is not None:
        rates = {name: max(rate, known["rates"][name]) for name, rate in rates.items()}
    # A cache is not slower than the memory behind it; other programs make it look so.
    rates["cache"] = max(rates.values())
    build_cache.store(key, {"rates": rates, "quiet": quiet})
    return rates


def _is_quiet(device: Device) -> bool:
    """Return whether other programs leave half of the processors to this one."""
    return not hasattr(os, "getloadavg") or os.getloadavg()[0] <= cores_of(device) / 2


# Measure the ceilings of a device, which no kernel exceeds by far, and cache them.

SOURCE = Path(__file__).with_name("ceiling.metal")
# Constants of ceiling.metal.
LANES, CEILING_CHAINS, NEAR_FLOATS = 16, 8, 4096
CEILING_THREADS, CEILING_THREADGROUPS_A_CORE, CEILING_STEPS = 32, 8, 256
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
    key = build_cache.digest("ceiling", text, device.kind, device.name, str(device.cores))
    known = build_cache.load(key)
    if known is not None and not again:
        return Ceiling(**known)
    library = device.compile(text, filename=str(SOURCE), fast_math=True)
    found = Ceiling(_ceiling_gflops(device, library), _ceiling_gbytes_per_s(device, library))
    roofs = roofs_of(device)
    if roofs is not None:
        # Loads that are not coalesced are slow on such a GPU.
        found = replace(found, gbytes_per_s=max(found.gbytes_per_s, roofs.cache_gbytes_per_s))
    if known is not None:
        before = Ceiling(**known)
        found = Ceiling(
            max(found.gflops, before.gflops), max(found.gbytes_per_s, before.gbytes_per_s)
        )
    build_cache.store(key, {"gflops": found.gflops, "gbytes_per_s": found.gbytes_per_s})
    return found


def _ceiling_gflops(device: Device, library: Library) -> float:
    flops_a_step = 2 * LANES * CEILING_CHAINS
    return _most_a_ns(device, library, "multiply_adds", {}) * flops_a_step


def _ceiling_gbytes_per_s(device: Device, library: Library) -> float:
    bytes_a_step = 4 * LANES * CEILING_CHAINS
    near = np.ones(NEAR_FLOATS, np.float32)
    return _most_a_ns(device, library, "loads", {"near": near}) * bytes_a_step


def _most_a_ns(device: Device, library: Library, name: str, values: dict[str, Any]) -> float:
    """Return the steps of all threads per nanosecond, in the fastest of several windows."""
    from metalbench import _core

    threads = cores_of(device) * CEILING_THREADGROUPS_A_CORE * CEILING_THREADS
    bound = {**values, "end": device.allocate(4 * threads), "steps": CEILING_STEPS}
    dispatch = _core.Dispatch(
        library.pipeline(name),
        bound,
        threads_in_grid=(threads, 1, 1),
        threads=(CEILING_THREADS, 1, 1),
    )
    return threads * CEILING_STEPS / min(device.run([dispatch]) for _ in range(WINDOWS))


# Create the probes: fixed work in registers, whose time tells the clock of a device, and reads of
# memory, whose time tells whether the caches hold it.

PROBE_SOURCE = Path(__file__).with_name("probe.metal")
LENGTH_NS = 100_000
# One SIMD-group: all cores have the same clock, and more would use power.
PROBE_LANES = 32
READ_THREADS = 256
FIRST_STEPS = 1024
TRIES = 3

_steps_of: dict[tuple[str, str], int] = {}


def create_probe(device: Device) -> list[Dispatch]:
    """Return the dispatches of the probe on `device`, about 0.1 ms long, calibrated once."""
    pipeline = _compile_probes(device).pipeline("probe")
    known = device.kind, device.name
    if known not in _steps_of:
        _steps_of[known] = _calibrate(device, pipeline, 1, LENGTH_NS)
    return _dispatches(device, pipeline, _steps_of[known])


def create_parallel_probe(device: Device, length_ns: float) -> list[Dispatch]:
    """Return the dispatches of a probe on all cores of `device`, about `length_ns` long."""
    pipeline = _compile_probes(device).pipeline("probe")
    threadgroups = cores_of(device) * CEILING_THREADGROUPS_A_CORE
    steps = _calibrate(device, pipeline, threadgroups, length_ns)
    return _dispatches(device, pipeline, steps, threadgroups)


def create_memory_probe(device: Device, size: int, threadgroups: int) -> list[Dispatch]:
    """Return the dispatches of a probe that reads `size` bytes by at most `threadgroups`."""
    from metalbench import _core

    threadgroups = min(threadgroups, cores_of(device) * CEILING_THREADGROUPS_A_CORE)
    words = max(1, size // (4 * threadgroups))
    data = device.allocate(4 * words * threadgroups)
    data.numpy("float32")[:] = 1  # without contents, all pages are one page of zeros
    values = {
        "data": data,
        "end": device.allocate(4 * threadgroups),
        "words_of_threadgroup": words,
    }
    pipeline = _compile_probes(device).pipeline("read")
    threads, groups = (READ_THREADS, 1, 1), (threadgroups, 1, 1)
    return [_core.Dispatch(pipeline, values, threads=threads, threadgroups=groups)]


def _compile_probes(device: Device) -> Library:
    source = PROBE_SOURCE.read_text(encoding="utf-8")
    return device.compile(source, filename=str(PROBE_SOURCE))


def _calibrate(device: Device, pipeline: Pipeline, threadgroups: int, length_ns: float) -> int:
    """Return the steps that take `length_ns`, from the slope of two lengths, without the launch."""

    def fastest(steps: int) -> float:
        dispatches = _dispatches(device, pipeline, steps, threadgroups)
        return min(device.run(dispatches) for _ in range(TRIES))

    short, long = fastest(FIRST_STEPS), fastest(4 * FIRST_STEPS)
    step_ns = max((long - short) / (3 * FIRST_STEPS), long / (4 * FIRST_STEPS) / 100)
    return max(1, round(length_ns / step_ns))


def _dispatches(
    device: Device, pipeline: Pipeline, steps: int, threadgroups: int = 1
) -> list[Dispatch]:
    from metalbench import _core

    values = {"end": device.allocate(4 * PROBE_LANES * threadgroups), "steps": steps}
    threads, groups = (PROBE_LANES, 1, 1), (threadgroups, 1, 1)
    return [_core.Dispatch(pipeline, values, threads=threads, threadgroups=groups)]
