"""Rotary position embeddings in NumPy, for oracles. Element i is paired with i + dims / 2."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# (heads, tokens, dims), or (tokens, heads, dims).
ROPE_SIZES = {
    "small": {"heads": 4, "tokens": 8, "dims": 16},
    "odd1": {"heads": 3, "tokens": 37, "dims": 80},
    "odd2": {"heads": 5, "tokens": 13, "dims": 44},
    "seed": {"heads": 16, "tokens": 256, "dims": 128},
    "large": {"heads": 32, "tokens": 4096, "dims": 128},
}


def rotary_frequencies(dims: int, base: float) -> Array:
    """Return base^(-2i / dims) of every pair i: (dims / 2)."""
    return np.asarray(float(base) ** (-np.arange(0, dims, 2) / dims))


def rotate_halves(x: Array, angle: Array) -> Array:
    """Return columns i and i + half of `x` (..., dims), turned by `angle` (..., dims / 2)."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    s, c = np.sin(angle), np.cos(angle)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)


def rotation_magnitude(x: Array, angle: Array) -> Array:
    """Return the error scale: the length of a pair times 1 + its angle, whose rounding counts."""
    half = x.shape[-1] // 2
    length = np.hypot(x[..., :half], x[..., half:]) * (1 + np.abs(angle))
    return np.concatenate([length, length], axis=-1)
