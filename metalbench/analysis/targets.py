"""The five scores of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from metalbench.analysis.throughput import Throughput


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
