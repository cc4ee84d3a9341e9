"""Resolution of a clock that advances in coarse ticks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A value counts as a tick if this share of the samples has it. If no value is as frequent, noise
# spreads the samples over many ticks, and their median is not affected.
LEVEL_SHARE = 0.05
# Times that differ by less are equal: the rounding of a difference of two float64 stamps in
# seconds.
SAME_LEVEL = 1e-7
# A sample spans 1000 ticks or more, so a larger distance of levels is not that of ticks.
COARSEST = 0.01


def clock_resolution(samples: NDArray[np.float64]) -> float:
    """Return the relative distance of neighbouring clock values; 0 if no ticks are visible.

    A time between two ticks is read as one of the two. If nearly all samples have the same value,
    the median is off by up to half of this distance, and more samples do not help.

    Parameters
    ----------
    samples
        Shape (n,), positive, in any unit of time.
    """
    if samples.size < 2:
        return 0.0
    ordered = np.sort(samples)
    median = float(ordered[ordered.size // 2])
    steps = np.flatnonzero(np.diff(ordered) > SAME_LEVEL * median)
    ends = np.append(steps, ordered.size - 1)
    frequent = np.diff(ends, prepend=-1) >= max(2.0, LEVEL_SHARE * ordered.size)
    gaps = np.diff(ordered[ends[frequent]]) / median
    gaps = gaps[gaps <= COARSEST]
    return float(gaps.min()) if gaps.size else 0.0
