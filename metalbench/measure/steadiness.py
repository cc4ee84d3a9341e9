"""What the probe of the clock saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How steady the device's clock was while it was sampled.

    `discarded` pairs were throttled and dropped, after `retries` rests sampling went on; if
    `throttled` the clock stayed low nevertheless. `spread` is how much longer a probe took at the
    95th percentile than at its best, as a fraction; None where there were no probes.
    """

    discarded: int = 0
    retries: int = 0
    throttled: bool = False
    spread: float | None = None


def spread_of(probe_ns: NDArray[np.float64]) -> float | None:
    """The 95th percentile of a probe's times over the least, minus 1; None without any."""
    if not probe_ns.size:
        return None
    return float(np.quantile(probe_ns, 0.95) / probe_ns.min()) - 1


def lower_clock(spread: float) -> str:
    """What is said of a device whose probe took longer at times, by the fraction `spread`."""
    return (
        "the GPU's clock was lower at times: work of a fixed length took up to "
        f"{spread:.0%} longer than at its best; nothing was left out for it, and ratios are of "
        "pairs, which share a clock; for times let the machine cool, close other programs, and run "
        "again"
    )
