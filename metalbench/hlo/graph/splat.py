"""Find splats: constants whose elements are all equal."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def find_splat(array: Array) -> Array | None:
    """Return the element that all elements of an array equal bit by bit, or None.

    An empty array has none.
    """
    if not array.size:
        return None
    first = np.asarray(array[(0,) * array.ndim])
    if any(array.strides):
        bits = array.reshape(-1).view(f"u{array.itemsize}")
        if (bits != bits[0]).any():
            return None
    return first
