"""Times that no honest kernel can have had on a machine, whatever its results are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.analysis.throughput import Throughput
    from metalbench.measure.ceiling import Ceiling
    from metalbench.stats import Interval

# A ceiling is measured by a plain kernel. Half precision and units for matrices do several times as
# much arithmetic, clever algorithms need less of it, and nothing loads much faster than from the
# nearest cache.
FASTER_ARITHMETIC = {"cpu": 8.0, "metal": 32.0, "cuda": 32.0}
FASTER_LOADS = 4.0


def implausible(time_ns: Interval, work: Throughput, ceiling: Ceiling, kind: str) -> str:
    """Why a pass cannot have taken so little time; empty if it can.

    `work` is what the task needs at least, `kind` that of the device.
    """
    # In the slowest time that the samples allow.
    slowest = time_ns.high if time_ns.is_bounded else time_ns.value
    times = FASTER_ARITHMETIC.get(kind, max(FASTER_ARITHMETIC.values()))
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
