"""Canonicalise a program: rename custom calls, fold constants, remove dead operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.ir import (
    ELEMENT_TYPES,
    Block,
    ElementType,
    Operation,
    TensorType,
    TensorValue,
    find_splat,
    replace_values,
)
from metalbench.hlo.operations import (
    COLLECTIVES,
    CONTROL_FLOW,
    ELEMENTWISE,
    HOST_CALLS,
    OPERATIONS,
    has_side_effects,
)

# Names of XLA's custom call targets, and of the operations that they become.
_NAMES = {each.custom_call: name for name, each in OPERATIONS.items() if each.custom_call}


def name_custom_calls(block: Block) -> None:
    """Rename known custom calls in place, also in regions.

    Other custom calls stay: `build_plan` refuses them.
    """
    for operation in block.operations:
        for region in operation.regions:
            name_custom_calls(region)
        target = operation.attributes.get("call_target_name")
        if operation.name == "custom_call" and target in _NAMES:
            operation.name = _NAMES[target]
            if operation.name not in HOST_CALLS:
                _check_factorization(operation)
            if operation.name == "eigh":
                _add_workspace(operation)


def _check_factorization(operation: Operation) -> None:
    """Raise Unsupported if the types are not those by which the kernel indexes.

    MLIR verifies no types of custom calls.
    """
    matrix, *others = (each.type for each in operation.operands)
    if len(matrix.shape) < 2:
        raise Unsupported(f"{operation.where}: expected a matrix, got {matrix}")
    *batch, rows, columns = matrix.shape
    least = min(rows, columns)
    element, integers = matrix.element, ELEMENT_TYPES["i32"]
    real = ELEMENT_TYPES[element.name.removeprefix("complex<").removesuffix(">")]

    def line(size: int, of: ElementType) -> TensorType:
        return TensorType((*batch, size), of)

    results = [matrix]
    if operation.name == "eigh":
        results.append(line(rows, real))
    elif operation.name == "lu":
        results += [line(least, integers), line(rows, integers)]
    elif operation.name == "qr":
        results.append(line(least, element))
    found = [each.type for each in operation.results]
    if found != results:
        raise Unsupported(
            f"{operation.where}: expected results {', '.join(map(str, results))}, "
            f"got {', '.join(map(str, found))}"
        )
    if operation.name == "eigh" and rows != columns:
        raise Unsupported(f"{operation.where}: expected square matrices, got {matrix}")
    if operation.name == "householder_product":
        (taus,) = others
        count = taus.shape[-1] if taus.shape else 0
        if taus != line(count, element) or count > least:
            expected = f"at most {least} scalars of {element} for each matrix"
            raise Unsupported(f"{operation.where}: expected {expected}, got {taus}")


def _add_workspace(eigh: Operation) -> None:
    """Add a third result: workspace for the matrix and its eigenvectors."""
    lower, ordered, *_ = eigh.attributes["backend_config"].split(",")
    eigh.attributes = {"lower": int(lower), "sorted": int(ordered)}
    type_ = eigh.operands[0].type
    *batch, rows, columns = type_.shape
    room = TensorType((*batch, 2, rows, columns), type_.element)
    eigh.results.append(TensorValue(room, eigh, len(eigh.results)))


# Remove collectives: a program has one device, so each of them has one participant.


def remove_collectives(block: Block) -> None:
    """Replace collectives by their operands and numbers of devices by 0, in place, also in regions.

    Raise Unsupported for a collective of several devices.
    """
    new: dict[TensorValue, TensorValue] = {}
    operations: list[Operation] = []
    for operation in block.operations:
        replace_values(operation, new)
        for region in operation.regions:
            remove_collectives(region)
        if operation.name not in COLLECTIVES:
            operations.append(operation)
        elif not operation.operands or _receives_nothing(operation):
            operations += [_create_zeros(each, operation.location) for each in operation.results]
        else:
            types = [each.type for each in operation.results]
            if types != [each.type for each in operation.operands]:
                raise Unsupported(f"{operation.where}: expected a collective of one device")
            new.update(zip(operation.results, operation.operands, strict=True))
    block.operations = operations
    block.returned = [new.get(each, each) for each in block.returned]


def _receives_nothing(operation: Operation) -> bool:
    """Return whether a permutation sends nothing to the only device, which then has zeros."""
    pairs = operation.attributes.get("source_target_pairs", ())
    return operation.name == "collective_permute" and [0, 0] not in np.asarray(pairs).tolist()


def _create_zeros(value: TensorValue, location: str) -> Operation:
    """Return a constant of zeros that defines a value."""
    zeros = np.broadcast_to(np.zeros((), value.type.element.storage), value.type.shape)
    made = Operation("constant", [], [value], {"value": zeros}, [], location)
    value.operation, value.number = made, 0
    return made


# Fold operations on splats to constants.
#
# Only operations whose result IEEE 754 determines are folded, so that results do not change.

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
    users: dict[TensorValue, list[Operation]] = {}
    for operation in block.operations:
        for value in operation.find_inputs():
            users.setdefault(value, []).append(operation)
    known: dict[TensorValue, Scalar] = {}
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


def _fold(operation: Operation, known: dict[TensorValue, Scalar]) -> Scalar | None:
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
        # Implementations differ in rounding integers or doubles to a half once or twice.
        is_wide = element == element.arithmetic and not source.is_narrow
        exact = is_wide or source.is_lane_float
        return _round(numbers[0], element) if exact else None
    if operation.name not in _FLOAT or not element.is_float:
        return None
    with np.errstate(all="ignore"):
        # Compute as kernels do: halves in float, then rounded.
        wide = element.arithmetic.storage
        found = _FLOAT[operation.name](*(each.astype(wide) for each in numbers))
        return _round(np.asarray(found), element)


def _round(number: Scalar, element: ElementType) -> Scalar:
    with np.errstate(all="ignore"):
        return np.asarray(number.astype(element.storage))


# Remove operations whose results are not used.


def remove_dead_code(block: Block) -> None:
    """Remove unused operations without side effects in place, also in regions."""
    used: set[TensorValue] = set(block.returned)
    kept = []
    for operation in reversed(block.operations):
        if used.isdisjoint(operation.results) and not has_side_effects(operation):
            continue
        for region in operation.regions:
            remove_dead_code(region)
        kept.append(operation)
        used.update(operation.find_inputs())
    block.operations = kept[::-1]
