"""Threefry 2x32-20 in NumPy, for oracles (Salmon et al., 2011), with MLX's layout of counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special  # type: ignore[import-untyped,unused-ignore]

Array = np.ndarray[Any, Any]

_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))


def encrypt(a: Any, b: Any, k0: Any, k1: Any) -> tuple[Any, Any]:
    """Return both words of the counter (a, b) under the key (k0, k1), uint32 of NumPy or MLX."""
    keys = [k0, k1, k0 ^ k1 ^ 0x1BD11BDA]
    a, b = a + k0, b + k1
    for group in range(5):
        for turn in _TURNS[group % 2]:
            a = a + b
            b = (b << turn | b >> (32 - turn)) ^ a
        a = a + keys[(group + 1) % 3]
        b = b + keys[(group + 2) % 3] + (group + 1)
    return a, b


def words(key: Array, count: int) -> Array:
    """Return the first `count` words that a `key` of two words gives, uint32."""
    half = (count + 1) // 2
    second = np.arange(half, 2 * half, dtype=np.uint32)
    second[second >= count] = 0
    key = key.astype(np.uint32)
    both = encrypt(np.arange(half, dtype=np.uint32), second, key[:1], key[1:])
    return np.asarray(np.concatenate(both)[:count])


def uniform(key: Array, count: int) -> Array:
    """Return numbers in [0, 1), float32 ones in float64."""
    drawn = words(key, count).astype(np.float32) / np.float32(4294967295)
    return np.asarray(np.minimum(drawn, np.float32(1 - 2.0**-24)), np.float64)


def normal(key: Array, count: int) -> Array:
    """Return normal numbers, by the inverse of the error function."""
    low = np.float32(-1 + 2.0**-24)
    spread = (uniform(key, count).astype(np.float32) * (1 - low) + low).astype(np.float32)
    return np.asarray(np.sqrt(2) * scipy.special.erfinv(spread.astype(np.float64)))


def gumbel(key: Array, count: int) -> Array:
    """Return numbers of the Gumbel distribution: -log(-log(u))."""
    return np.asarray(-np.log(-np.log(uniform(key, count))))
