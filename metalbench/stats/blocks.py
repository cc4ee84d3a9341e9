"""Medians of blocks: few, nearly independent numbers in the place of many correlated ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class BlockRange(Interval):
    """The median of a series with the lowest and the highest median of its blocks.

    It shows how far a series goes; no confidence comes with it.
    """

    @classmethod
    def of(cls, value: float, medians: NDArray[np.float64]) -> BlockRange:
        """The blocks' ends, which reach to `value` where it lies outside of them."""
        return cls(value, min(float(medians.min()), value), max(float(medians.max()), value))


def eight_medians(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Medians of eight contiguous blocks of equal length, to within one, of at least eight samples.

    Of a series too short or too correlated for blocks as long as its correlation.
    """
    blocks = np.array_split(samples, FEWEST_BLOCKS)
    return np.array([np.median(block) for block in blocks], dtype=np.float64)


def block_range(samples: NDArray[np.float64]) -> BlockRange | None:
    """The range of eight contiguous blocks; None for fewer samples."""
    if samples.size < FEWEST_BLOCKS:
        return None
    return BlockRange.of(float(np.median(samples)), eight_medians(samples))


def block_medians(samples: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Median of each block of `length` samples in order; what does not fill one is left out.

    What is left out comes first, where a series is the least settled.
    """
    blocks = samples.size // length
    tail = samples[samples.size - blocks * length :]
    return np.asarray(np.median(tail.reshape(blocks, length), axis=1), dtype=np.float64)
