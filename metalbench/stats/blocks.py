"""Medians of blocks: few, nearly independent numbers in the place of many correlated ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import Interval

# Fewer say nothing about trends and signs; more only cost time.
FEWEST_BLOCKS = 8
MOST_BLOCKS = 64
# Tau exceeds 1 by both sides' correlation with a sample; twice that apart is hardly any left.
BLOCK_TAUS = 2.0


def block_length(count: int, tau: float) -> int | None:
    """Samples in a block of a series of `count`, or None if that leaves fewer than eight blocks."""
    length = max(1, math.ceil(count / MOST_BLOCKS), math.ceil(BLOCK_TAUS * (tau - 1.0)))
    return length if count // length >= FEWEST_BLOCKS else None


def eight_medians(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Medians of eight contiguous blocks of equal length, to within one, of at least eight samples.

    Of a series too short or too correlated for blocks as long as its correlation.
    """
    blocks = np.array_split(samples, FEWEST_BLOCKS)
    return np.array([np.median(block) for block in blocks], dtype=np.float64)


def block_range(samples: NDArray[np.float64]) -> Interval | None:
    """The median with the lowest and the highest of eight blocks; None for fewer samples.

    It shows how far a series goes whose samples are too few, or too much alike, for an interval.
    """
    if samples.size < FEWEST_BLOCKS:
        return None
    medians, median = eight_medians(samples), float(np.median(samples))
    return Interval(median, min(float(medians.min()), median), max(float(medians.max()), median))


def block_medians(samples: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Median of each block of `length` samples in order; what does not fill one is left out.

    What is left out comes first, where a series is the least settled.
    """
    blocks = samples.size // length
    tail = samples[samples.size - blocks * length :]
    return np.asarray(np.median(tail.reshape(blocks, length), axis=1), dtype=np.float64)
