"""Inputs for mixtures of experts: some experts have many rows, others have none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.inputs import Input, integers

Array = np.ndarray[Any, Any]


def expert_indices(*dims: str, high: str, ordered: bool = False) -> Input:
    """Return integers in [0, high) that are mostly small: some experts get no row.

    With `ordered` they are sorted.
    """
    plain = integers(*dims, high=high)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        drawn = (random.random(shape) ** 3 * values[high]).astype(np.uint32)
        return np.sort(drawn, axis=None).reshape(shape) if ordered else drawn

    called = f"{plain.distribution}, most of them low"
    return replace(plain, draw=draw, distribution=called, together=ordered)


def multiply_by_expert(x: Any, w: Any, expert: Any, *, ordered: bool = False) -> Any:
    """Return rows of `x` (..., inner) times the transposes of their matrices, by mx.gather_mm.

    MLX has it in half types on GPUs alone; on a processor operands are widened.
    """
    dtype = x.dtype
    if mx.default_device() == mx.Device(mx.cpu):
        x, w = x.astype(mx.float32), w.astype(mx.float32)
    found = mx.gather_mm(
        x[..., None, :], w.swapaxes(-1, -2), rhs_indices=expert, sorted_indices=ordered
    )
    return found[..., 0, :].astype(dtype)
