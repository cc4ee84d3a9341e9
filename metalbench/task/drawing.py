"""Draw random arrays. Large arrays are drawn in blocks by several threads.

Every block has a separate generator, spawned from the generator of the array. The numbers depend
neither on the machine nor on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from metalbench.cores import usable_cores

Values = np.ndarray[Any, Any]
Fill = Callable[[np.random.Generator, Values], object]

BLOCK = 1 << 22


def draw_standard_normal(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Return an array, float32, from the standard normal distribution."""
    if math.prod(shape) <= BLOCK:
        return np.asarray(random.standard_normal(shape, dtype=np.float32))
    return _fill_blocks(
        random, shape, lambda own, out: own.standard_normal(dtype=np.float32, out=out)
    )


def draw_uniform(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Return an array, float32, spread evenly over [0, 1)."""
    if math.prod(shape) <= BLOCK:
        return np.asarray(random.random(shape, dtype=np.float32))
    return _fill_blocks(random, shape, lambda own, out: own.random(dtype=np.float32, out=out))


def change_in_blocks(values: Values, change: Callable[[Values], object]) -> Values:
    """Return the values, each changed by itself where it is, by a function of a part of them."""
    flat = values.reshape(-1)
    if flat.size <= BLOCK:
        change(flat)
    else:
        _run_in_threads(change, _blocks(flat))
    return flat.reshape(values.shape)


def estimate_deviation(values: Values) -> np.floating[Any]:
    """Return the standard deviation; of a large array only that of its first block."""
    return np.float32(values.reshape(-1)[:BLOCK].std())


def _fill_blocks(random: np.random.Generator, shape: tuple[int, ...], fill: Fill) -> Values:
    values = np.empty(shape, np.float32)
    blocks = _blocks(values.reshape(-1))
    _run_in_threads(fill, random.spawn(len(blocks)), blocks)
    return values


def _blocks(flat: Values) -> list[Values]:
    return [flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK)]


def _run_in_threads(work: Callable[..., object], *arguments: Sequence[Any]) -> None:
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="draw") as threads:
        # What they return is waited for, so that what is raised there is raised here.
        list(threads.map(work, *arguments))
