"""Analyse a measurement: throughput, roofline, occupancy, scores, implausible times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

from metalbench.devices import find_kind
from metalbench.measure.device_limits import Peaks
from metalbench.stats import Interval

if TYPE_CHECKING:
    from metalbench.measure.device_limits import Ceiling
    from metalbench.measure.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Throughput:
    """The work of one pass of a task, and its rates.

    ``flops`` and ``bytes`` are the least work of the task, not the kernel's: its declared
    arithmetic, its inputs read once and its outputs written once.
    """

    flops: float
    bytes: float
    gflops: Interval
    gbytes_per_s: Interval

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, in FLOP per byte."""
        return self.flops / self.bytes if self.bytes else float("inf")


def throughput(time_ns: Interval, flops: float, nbytes: float) -> Throughput:
    """Return GFLOP/s and GB/s (10^9 each) of a pass that takes ``time_ns``.

    FLOP per nanosecond are GFLOP per second, so no factor appears.
    """
    return Throughput(
        flops=flops,
        bytes=nbytes,
        gflops=time_ns.map(lambda time: flops / time),
        gbytes_per_s=time_ns.map(lambda time: nbytes / time),
    )


# Compare a kernel with the two limits of a device: arithmetic and memory.
#
# S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
# multicore architectures", CACM 52 (2009).


@dataclass(frozen=True, slots=True)
class Roofline:
    """The position of a kernel under the roofline.

    ``fraction`` is floor time / measured time. ``valid`` is False if the kernel seems faster than
    the device, which means that the work, the peaks or the time are wrong. ``fraction`` is then
    None, as it is if the peaks are unknown.
    """

    bound: Literal["compute", "memory", "unknown"]
    fraction: float | None
    valid: bool
    reason: str


def roofline(time_ns: Interval, work: Throughput, peaks: Peaks | None, unknown: str) -> Roofline:
    """Compare a time with the least time that the device needs for the work.

    Parameters
    ----------
    time_ns
        Time of one pass.
    work
        The work of one pass.
    peaks
        The limits of the device; None if they are unknown, for the reason `unknown`.
    """
    if peaks is None:
        return Roofline("unknown", None, True, unknown)
    compute_ns = work.flops / peaks.gflops
    memory_ns = work.bytes / peaks.gbytes_per_s
    floor_ns = max(compute_ns, memory_ns)
    bound: Literal["compute", "memory"] = "compute" if compute_ns >= memory_ns else "memory"
    # Invalid only if the whole interval is below the floor, so that noise alone is not enough.
    slowest = time_ns.high if time_ns.is_bounded else time_ns.value
    if slowest < floor_ns:
        reason = f"{time_ns.value:.4g} ns is below the floor of {floor_ns:.4g} ns ({peaks.source})"
        return Roofline(bound, None, False, reason)
    return Roofline(bound, min(1.0, floor_ns / time_ns.value), True, peaks.source)


# The five scores of a kernel.


class Target(str, Enum):
    """The score of the headline. For each, higher is better."""

    SPEED = "speed"
    COMPUTE = "compute"
    MEMORY = "memory"
    STABLE = "stable"
    BALANCED = "balanced"


@dataclass(frozen=True, slots=True)
class Scores:
    """The five scores of one measurement; `speed` and `balanced` need a reference's time."""

    speed: float | None
    compute: float
    memory: float
    stable: float
    balanced: float | None

    def __getitem__(self, target: Target) -> float | None:
        value = getattr(self, target.value)
        return None if value is None else float(value)


def scores(speedup: float | None, work: Throughput, stability: float) -> Scores:
    """Return the scores of a kernel.

    Parameters
    ----------
    speedup
        Reference time / kernel time on one clock, or None without a reference.
    work
        Its GFLOP/s and GB/s.
    stability
        0..1, see `metalbench.stats.stability`.
    """
    gflops = work.gflops.value
    balanced = None if speedup is None else 0.5 * speedup + 0.3 * gflops / 1000 + 0.2 * stability
    return Scores(
        speed=speedup,
        compute=gflops,
        memory=work.gbytes_per_s.value,
        stable=stability,
        balanced=balanced,
    )


# The occupancy of a device's threadgroups by a dispatch.


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The geometry of one dispatch and the limits of the device (counts, memory in bytes)."""

    pipeline: str
    threadgroups: tuple[int, int, int]
    threads: tuple[int, int, int]
    max_threads: int
    threadgroup_bytes: int
    max_threadgroup_bytes: int
    simd_width: int

    @property
    def threads_per_threadgroup(self) -> int:
        """The threads of one full threadgroup."""
        return math.prod(self.threads)

    @property
    def simdgroups(self) -> int:
        """The SIMD-groups of one full threadgroup."""
        return -(-self.threads_per_threadgroup // self.simd_width)

    @property
    def idle_lanes(self) -> int:
        """The unused lanes of the last SIMD-group."""
        return self.simdgroups * self.simd_width - self.threads_per_threadgroup


# Find times that are too short for the work of a task on this machine.

# A plain kernel measures the ceiling. Loads are not much faster than from the L1 cache.
FASTER_LOADS = 4.0


def implausible(time_ns: Interval, work: Throughput, ceiling: Ceiling, kind: str) -> str:
    """Return the reason why a pass cannot have taken this time; empty if it can.

    `work` is the least work of the task, `kind` the kind of the device.
    """
    # By the upper end of the time's interval.
    slowest = time_ns.high if time_ns.is_bounded else time_ns.value
    times = find_kind(kind).faster_arithmetic
    claims = (
        (work.flops / slowest, ceiling.gflops, times, "GFLOP/s", "flops", "multiply-adds"),
        (work.bytes / slowest, ceiling.gbytes_per_s, FASTER_LOADS, "GB/s", "bytes", "loads"),
    )
    for claimed, reached, factor, unit, said, done in claims:
        if claimed > factor * reached:
            return (
                f"expected at most {factor * reached:.3g} {unit}, {factor:g} times what {done} "
                f"reach on this machine, got {claimed:.3g} {unit} (a pass in {slowest:.3g} ns); "
                "either the work is not done in the passes that are timed, or the task's "
                f"`{said}` says more than is needed"
            )
    return ""


# Analyse a measurement: throughput, roofline and scores.

UNKNOWN_PEAKS = "the peaks of this device are not known"
SIMULATED = "host times of a simulation do not compare with peaks of a device"


@dataclass(frozen=True, slots=True)
class Analysis:
    """The throughput, the roofline position and the five scores of one measurement."""

    work: Throughput
    roofline: Roofline
    scores: Scores


def analyse(
    measurement: Measurement,
    flops: float,
    nbytes: float,
    *,
    simulated: bool,
    peaks: Peaks | None = None,
) -> Analysis:
    """Analyse a measurement of a task that needs `flops` operations and moves `nbytes` bytes.

    Throughput is by GPU time on devices with a GPU clock, so that launches do not count.
    `simulated` marks host times of a simulation, to which peaks do not apply.
    """
    time_ns = measurement.work_ns
    work = throughput(time_ns, flops, nbytes)
    speedup = None if measurement.ratio is None else measurement.ratio.value
    unknown = SIMULATED if simulated else UNKNOWN_PEAKS
    return Analysis(
        work=work,
        roofline=roofline(time_ns, work, None if simulated else peaks, unknown),
        scores=scores(speedup, work, measurement.stability),
    )
