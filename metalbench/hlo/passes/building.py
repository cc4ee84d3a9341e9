"""Build sequences of operations in a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENT_TYPES, ElementType, Operation, TensorType, Value

Array = np.ndarray[Any, Any]
COMPLEX, REAL = ELEMENT_TYPES["complex<f32>"], ELEMENT_TYPES["f32"]


class OperationBuilder:
    """A list of new operations; the default element type of results is complex."""

    def __init__(self, location: str) -> None:
        self._location = location
        self.operations: list[Operation] = []

    def slice(self, value: Value, axis: int, start: int, stop: int) -> Value:
        """Return the elements from `start` to `stop` along an axis."""
        shape = list(value.type.shape)
        if (start, stop) == (0, shape[axis]):
            return value
        starts = [start if each == axis else 0 for each in range(len(shape))]
        limits = [stop if each == axis else size for each, size in enumerate(shape)]
        shape[axis] = stop - start
        return self.create(
            "slice",
            [value],
            tuple(shape),
            value.type.element,
            start_indices=starts,
            limit_indices=limits,
            strides=[1] * len(shape),
        )

    def pad_end(self, value: Value, axis: int, more: int) -> Value:
        """Append `more` zeros along an axis."""
        shape = list(value.type.shape)
        high = [more if each == axis else 0 for each in range(len(shape))]
        shape[axis] += more
        none = [0] * len(shape)
        zero = self.create_constant(0)
        return self.create(
            "pad",
            [value, zero],
            tuple(shape),
            edge_padding_low=none,
            edge_padding_high=high,
            interior_padding=none,
        )

    def scale_along(self, value: Value, numbers: Array, axis: int) -> Value:
        """Multiply the elements at each index of an axis by the number for that index."""
        given, shape = self.create_constant(numbers), value.type.shape
        given = self.create("broadcast_in_dim", [given], shape, broadcast_dimensions=(axis,))
        return self.create("multiply", [value, given], shape)

    def create_constant(self, numbers: Any, element: ElementType = COMPLEX) -> Value:
        """Return a constant with these numbers."""
        array = np.asarray(numbers, element.storage)
        return self.create("constant", [], array.shape, element, value=array)

    def create(
        self,
        name: str,
        operands: list[Value],
        shape: tuple[int, ...],
        element: ElementType = COMPLEX,
        **attributes: Any,
    ) -> Value:
        """Append an operation; return its result."""
        operation = Operation(name, operands, [], attributes, [], self._location)
        operation.results = [Value(TensorType(shape, element), operation)]
        self.operations.append(operation)
        return operation.results[0]

    def conjugate(self, value: Value) -> Value:
        """Return the complex conjugate of each element."""
        shape = value.type.shape
        real, imaginary = (self.create(part, [value], shape, REAL) for part in ("real", "imag"))
        return self.create(
            "complex", [real, self.create("negate", [imaginary], shape, REAL)], shape
        )
