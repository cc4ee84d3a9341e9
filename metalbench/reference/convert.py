"""Convert arrays between NumPy and MLX, bfloat16 included."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np


def to_mlx(array: np.ndarray[Any, Any]) -> mx.array:
    """Copy `array` to MLX's memory, with the same element type."""
    if array.dtype.name == "bfloat16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    return mx.array(array)


def to_numpy(array: mx.array) -> np.ndarray[Any, Any]:
    """Copy `array` to NumPy's memory, with the same element type."""
    if array.dtype == mx.bfloat16:
        import ml_dtypes

        return np.array(array.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(array)
