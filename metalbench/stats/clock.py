"""What a clock that ticks slowly hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A value is one of the clock's if this part of the samples has it: a rarer one says nothing, and
# where none is as frequent, noise spreads the samples over so many ticks that their median does
# not feel them.
LEVEL_SHARE = 0.05
# Times that differ by less are equal: what subtracting two stamps in float64 seconds leaves.
SAME_LEVEL = 1e-7
# A sample spans 1000 ticks or more, so levels further apart than this are not a clock's.
COARSEST = 0.01


def clock_grain(samples: NDArray[np.float64]) -> float:
    """Relative distance of neighbouring values of a series that a clock has rounded; else 0.

    A time between two ticks is read as one or the other. If nearly all samples read the same,
    their median is off by up to half of this distance, and no number of them tells.

    Parameters
    ----------
    samples
        Shape (n,), positive, in the clock's unit or any multiple of it.
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
