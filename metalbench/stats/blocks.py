"""Medians of contiguous blocks: few, nearly independent values in place of a correlated series."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.interval import Interval

# Fewer blocks show no trend and no sign; more only cost time.
FEWEST_BLOCKS = 8
MOST_BLOCKS = 64
# Tau exceeds 1 by the correlation on both sides of a sample; at twice that distance hardly any is
# left.
BLOCK_TAUS = 2.0


def block_length(count: int, tau: float) -> int | None:
    """Return the block length for `count` samples; None if fewer than eight blocks would fit."""
    length = max(1, math.ceil(count / MOST_BLOCKS), math.ceil(BLOCK_TAUS * (tau - 1.0)))
    return length if count // length >= FEWEST_BLOCKS else None


@dataclass(frozen=True, slots=True)
class BlockRange(Interval):
    """The median of a series with the lowest and the highest block median.

    It describes the range of the series. It is not a confidence interval.
    """

    @classmethod
    def of(cls, value: float, medians: NDArray[np.float64]) -> BlockRange:
        """Return the range of block medians, extended to `value` if that lies outside."""
        return cls(value, min(float(medians.min()), value), max(float(medians.max()), value))


def medians_of_eight_blocks(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the medians of eight contiguous blocks of equal length, to within one sample.

    Used for series that are too short or too correlated for `block_length`. Needs eight samples.
    """
    blocks = np.array_split(samples, FEWEST_BLOCKS)
    return np.array([np.median(block) for block in blocks], dtype=np.float64)


def block_range(samples: NDArray[np.float64]) -> BlockRange | None:
    """Return the range of the medians of eight contiguous blocks; None for too few samples."""
    if samples.size < FEWEST_BLOCKS:
        return None
    return BlockRange.of(float(np.median(samples)), medians_of_eight_blocks(samples))


def block_medians(samples: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the median of each block of `length` samples in order.

    The samples that fill no block are dropped at the start, where a series is the least settled.
    """
    blocks = samples.size // length
    tail = samples[samples.size - blocks * length :]
    return np.asarray(np.median(tail.reshape(blocks, length), axis=1), dtype=np.float64)
