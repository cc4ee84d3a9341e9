"""Constants that are one number everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def find_splat(array: Array) -> Array | None:
    """The element that all of an array's are, of its bits; None if they differ, or are none."""
    if not array.size:
        return None
    first = np.asarray(array[(0,) * array.ndim])
    if any(array.strides):
        bits = array.reshape(-1).view(f"u{array.itemsize}")
        if (bits != bits[0]).any():
            return None
    return first
