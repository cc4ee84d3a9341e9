"""Judge the device's clock by its probe: over time, and after the windows of each side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats import Interval
from metalbench.stats.median import interval_by_ranks

# Largest relative difference of the clocks of the two sides.
EQUAL_CLOCKS = 0.02
# Of seven probes the second lowest and the second highest, so that one outlier has no effect.
CLOCK_CONFIDENCE = 0.87


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The steadiness of the device's clock during sampling.

    `discarded` pairs were throttled and dropped. Sampling continued after `retries` rests. If
    `throttled`, the clock stayed low nevertheless. `spread` is `probe_spread`, None without probes.
    """

    discarded: int = 0
    retries: int = 0
    throttled: bool = False
    spread: float | None = None


def probe_spread(probe_ns: NDArray[np.float64]) -> float | None:
    """Return the 95th percentile of a probe's times over the least, minus 1; None without any."""
    if not probe_ns.size:
        return None
    return float(np.quantile(probe_ns, 0.95) / probe_ns.min()) - 1


def warn_of_lower_clock(spread: float) -> str:
    """Return a warning that the probe took longer at times, by the fraction `spread`."""
    return (
        "the GPU's clock was lower at times: work of a fixed length took up to "
        f"{spread:.0%} longer than at its best; nothing was left out for it, and ratios are of "
        "pairs, which share a clock; for times let the machine cool, close other programs, and run "
        "again"
    )


def clock_ratio(
    after_candidate_ns: NDArray[np.float64], after_reference_ns: NDArray[np.float64]
) -> Interval | None:
    """Return the clock after the candidate's windows / after the reference's.

    Parameters
    ----------
    after_candidate_ns, after_reference_ns
        Times of one probe directly after a long window of a side, shapes (n,): pairs.

    None without pairs. The time of fixed work is inversely proportional to the clock.
    """
    if not after_candidate_ns.size or after_candidate_ns.size != after_reference_ns.size:
        return None
    ratios = after_reference_ns / after_candidate_ns
    # Long windows of both sides lie between two probes, so they count as independent.
    return interval_by_ranks(ratios, ratios.size, CLOCK_CONFIDENCE)


def warn_of_unequal_clocks(ratio: Interval) -> str | None:
    """Return a warning if the clocks of the two sides certainly differ by more than 2 %."""
    differ = ratio.low > 1 + EQUAL_CLOCKS or ratio.high < 1 - EQUAL_CLOCKS
    if not (ratio.is_bounded and differ):
        return None
    lower, higher = ("MLX's", "the kernel's") if ratio.value > 1 else ("the kernel's", "MLX's")
    difference = max(ratio.value, 1 / ratio.value) - 1
    return (
        f"the GPU's clock is lower in {lower} windows: work of a fixed length takes "
        f"{difference:.0%} longer directly after them than after {higher}, and about so much of "
        "the ratio is the clock's; measure a larger size, which leaves the GPU no pauses"
    )
