"""Fold operations on splats to constants.

Only operations whose result IEEE 754 determines are folded, so that results do not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metalbench.hlo.graph import Block, ElementType, Operation, Value, find_splat
from metalbench.hlo.operations import CONTROL_FLOW, ELEMENTWISE, OPERATIONS

Scalar = np.ndarray[Any, Any]
_FLOAT: dict[str, Callable[..., Any]] = {
    name: getattr(np, each.numpy) for name, each in OPERATIONS.items() if each.numpy
}
_SPLAT_PRESERVING = frozenset(name for name, each in OPERATIONS.items() if each.preserves_splat)


def fold_splats(block: Block) -> None:
    """Fold in place, also in regions of control flow.

    A broadcast stays if any operation that is not elementwise reads it, because the constant would
    need a buffer.
    """
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                fold_splats(region)
    users: dict[Value, list[Operation]] = {}
    for operation in block.operations:
        for value in operation.find_inputs():
            users.setdefault(value, []).append(operation)
    known: dict[Value, Scalar] = {}
    returned = set(block.returned)
    for number, operation in enumerate(block.operations):
        found = _fold(operation, known)
        if found is None:
            continue
        (result,) = operation.results
        known[result] = found
        read = users.get(result, [])
        arithmetic = all(
            each.name in ELEMENTWISE or each.name in _SPLAT_PRESERVING for each in read
        )
        if operation.name != "constant" and arithmetic and result not in returned:
            array = np.broadcast_to(found, result.type.shape)
            new_operation = Operation(
                "constant", [], [result], {"value": array}, [], operation.location
            )
            result.operation = block.operations[number] = new_operation


def _fold(operation: Operation, known: dict[Value, Scalar]) -> Scalar | None:
    """Return the number that all elements of a result are, or None if it is unknown."""
    if operation.name == "constant":
        return find_splat(operation.attributes["value"])
    given = [known.get(each) for each in operation.operands]
    numbers = [each for each in given if each is not None]
    if not numbers or len(numbers) != len(given):
        return None
    if operation.name in _SPLAT_PRESERVING:
        return numbers[0]
    return _evaluate(operation, numbers)


def _evaluate(operation: Operation, numbers: list[Scalar]) -> Scalar | None:
    """Return the result of an operation on numbers, or None if IEEE 754 does not determine it."""
    element = operation.results[0].type.element
    if any(each.type.element.is_complex for each in operation.operands):
        return None
    if operation.name == "convert" and element.is_float:
        source = operation.operands[0].type.element
        # Implementations differ in rounding integers to a half once or twice.
        exact = source.is_float or (element.name == "f32" and not source.is_narrow)
        return _round(numbers[0], element) if exact else None
    if operation.name not in _FLOAT or not element.is_float:
        return None
    with np.errstate(all="ignore"):
        # Compute as kernels do: halves in float, then rounded.
        found = _FLOAT[operation.name](*(each.astype(np.float32) for each in numbers))
        return _round(np.asarray(found), element)


def _round(number: Scalar, element: ElementType) -> Scalar:
    with np.errstate(all="ignore"):
        return np.asarray(number.astype(element.storage))
