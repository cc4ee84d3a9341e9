"""Norms of rows in NumPy, for oracles, and the scales of their rounding errors."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def root_mean_square(x: Array, eps: float) -> Array:
    """Return sqrt(mean(x^2) + eps) of every row of `x` (..., cols): (..., 1)."""
    mean: Array = np.einsum("...c,...c->...", x, x) / x.shape[-1]
    return np.asanyarray(np.sqrt(mean + eps)[..., None])


def standardise(x: Array, eps: float) -> Array:
    """Return the rows of `x` shifted and scaled to mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asanyarray(centred / root_mean_square(centred, eps))


def standardisation_terms(x: Array, eps: float) -> Array:
    """Return the terms whose difference `standardise` is, in units of the standard deviation."""
    mean = x.mean(axis=-1, keepdims=True)
    return np.asanyarray((np.abs(x) + np.abs(mean)) / root_mean_square(x - mean, eps))
