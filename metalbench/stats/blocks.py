"""Medians of blocks: few, nearly independent numbers in the place of many correlated ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Fewer say nothing about trends and signs; more only cost time.
FEWEST_BLOCKS = 8
MOST_BLOCKS = 64
# Tau exceeds 1 by both sides' correlation with a sample; twice that apart is hardly any left.
BLOCK_TAUS = 2.0


def block_length(count: int, tau: float) -> int | None:
    """Samples in a block of a series of `count`, or None if that leaves fewer than eight blocks."""
    length = max(1, math.ceil(count / MOST_BLOCKS), math.ceil(BLOCK_TAUS * (tau - 1.0)))
    return length if count // length >= FEWEST_BLOCKS else None


def block_medians(samples: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Median of each block of `length` samples in order; what does not fill one is left out.

    What is left out comes first, where a series is the least settled.
    """
    blocks = samples.size // length
    tail = samples[samples.size - blocks * length :]
    return np.asarray(np.median(tail.reshape(blocks, length), axis=1), dtype=np.float64)
