"""Find times that are too short for the work of a task on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.analysis.throughput import Throughput
    from metalbench.measure.ceiling import Ceiling
    from metalbench.stats import Interval

# A plain kernel measures the ceiling. Half precision and matrix units are several times faster, and
# some algorithms need less arithmetic. Loads are not much faster than from the L1 cache.
FASTER_ARITHMETIC = {"cpu": 8.0, "metal": 32.0, "cuda": 32.0}
FASTER_LOADS = 4.0


def implausible(time_ns: Interval, work: Throughput, ceiling: Ceiling, kind: str) -> str:
    """Return the reason why a pass cannot have taken this time; empty if it can.

    `work` is the least work of the task, `kind` the kind of the device.
    """
    # By the upper end of the time's interval.
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
