"""Sparse matrices for tasks: inputs with compressed rows (CSR), and their products in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.task.inputs import Input, integers, normal

Array = np.ndarray[Any, Any]


def draw_offsets(random: np.random.Generator, shape: tuple[int, ...], values: Any) -> Array:
    """Return where rows begin, and the end: a tenth is empty, a few have eight times the mean."""
    weights = random.random(shape[0] - 1)
    weights *= random.random(weights.shape) > 0.1
    weights *= np.where(random.random(weights.shape) < 0.01, 16, 1)
    ends = np.cumsum(weights)
    bounds = np.concatenate([[0], np.rint(ends * (values["nonzeros"] / max(ends[-1], 1e-9)))])
    bounds[-1] = values["nonzeros"]
    return bounds.astype(np.uint32)


def csr_inputs(*x: str) -> Mapping[str, Input]:
    """Return a matrix (rows, cols) in CSR, and what it is multiplied with, of the dims `x`."""
    ragged = replace(integers("rows + 1", high="nonzeros"), draw=draw_offsets, together=True)
    return dict(
        offsets=ragged,
        columns=integers("nonzeros", high="cols"),
        values=normal("nonzeros"),
        x=normal(*x),
    )


def multiply_csr(offsets: Array, columns: Array, values: Array, x: Array) -> Array:
    """Return the matrix times `x`, a vector or a matrix."""
    bounds = offsets.astype(np.int64)
    rows = np.repeat(np.arange(len(offsets) - 1), bounds[1:] - bounds[:-1])
    taken = x[columns.astype(np.int64)]
    terms = values.reshape(-1, *[1] * (x.ndim - 1)) * taken
    y = np.zeros_like(x, shape=(len(offsets) - 1, *x.shape[1:]))
    np.add.at(y, rows, terms)
    return y


def csr_magnitude(offsets: Array, columns: Array, values: Array, x: Array) -> Array:
    """Return the sums of absolute terms."""
    return multiply_csr(offsets, columns, np.abs(values), np.abs(x))
