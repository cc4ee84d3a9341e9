"""Draw random arguments of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metalbench.hlo.graph import TensorType

Array = np.ndarray[Any, Any]


def draw_arguments(inputs: Sequence[TensorType], seed: int) -> list[Array]:
    """Return random arrays: normally distributed floats and complex numbers, small integers."""
    generator = np.random.default_rng(seed)
    arrays = []
    for type_ in inputs:
        element = type_.element
        numbers: Any = generator.standard_normal(type_.shape)
        if element.is_complex:
            numbers = numbers + 1j * generator.standard_normal(type_.shape)
        elif not element.is_float:
            numbers = generator.integers(0, 2 if element.bits <= 2 else 8, type_.shape)
        arrays.append(np.asarray(numbers).astype(element.numpy))
    return arrays
