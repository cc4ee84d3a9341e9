"""Compare a kernel with the two limits of a device: arithmetic and memory.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metalbench.analysis.throughput import Throughput
from metalbench.stats import Interval


@dataclass(frozen=True, slots=True)
class Peaks:
    """The limits of a device in GFLOP/s and GB/s, and the source of the numbers."""

    gflops: float
    gbytes_per_s: float
    source: str


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
