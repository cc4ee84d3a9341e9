"""Split reductions of many elements to few results into partial reductions and a final one.

The order of the elements stays. The StableHLO specification of `reduce` leaves the grouping, and
the number of uses of the initial value, to the implementation.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt, prod

from metalbench.hlo.graph import Block, Operation, TensorType, Value
from metalbench.hlo.operations import CONTROL_FLOW

# Fewer elements are reduced faster than another kernel is dispatched.
MIN_ELEMENTS = 512
# This many results already occupy a device.
MAX_RESULTS = 256
MAX_THREADS = 4096
MIN_PARTS = 8


def split_reductions(block: Block) -> None:
    """Split reductions in place, also in regions of control flow."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name == "reduce":
            operations += _split_reduction(operation)
        elif operation.name in CONTROL_FLOW:
            for region in operation.regions:
                split_reductions(region)
        operations.append(operation)
    block.operations = operations


def _split_reduction(reduce: Operation) -> list[Operation]:
    """Return the partial reduction of `reduce`, and make `reduce` the final one.

    The list is empty if the reduction stays.
    """
    half = len(reduce.operands) // 2
    shape = reduce.operands[0].type.shape
    axes = sorted(reduce.attributes["dimensions"])
    parts = _choose_part_count([shape[each] for each in axes], reduce.results[0].type.size)
    if not parts:
        return []
    first = axes[0]
    split = (*shape[:first], parts, shape[first] // parts, *shape[first + 1 :])
    inner = [first + 1, *(each + 1 for each in axes[1:])]
    kept = tuple(size for axis, size in enumerate(split) if axis not in inner)
    operations = [
        _create_like(reduce, "reshape", [each], [split], {}) for each in reduce.operands[:half]
    ]
    reshaped = [each.results[0] for each in operations]
    partial = _create_like(
        reduce,
        "reduce",
        [*reshaped, *reduce.operands[half:]],
        [kept] * half,
        {"dimensions": inner},
        keeps_regions=True,
    )
    reduce.operands = [*partial.results, *reduce.operands[half:]]
    reduce.attributes = {**reduce.attributes, "dimensions": [first]}
    return [*operations, partial]


def _choose_part_count(sizes: list[int], results: int) -> int:
    """Return the number of parts, or 0 if the reduction should stay as it is."""
    count = prod(sizes)
    if count < MIN_ELEMENTS or not 0 < results < MAX_RESULTS:
        return 0
    most = min(MAX_THREADS // results, 2 * isqrt(count))
    found = [each for each in range(MIN_PARTS, most + 1) if sizes[0] % each == 0]
    return found[-1] if found else 0


def _create_like(
    like: Operation,
    name: str,
    operands: list[Value],
    shapes: list[tuple[int, ...]],
    attributes: dict[str, object],
    *,
    keeps_regions: bool = False,
) -> Operation:
    """Return an operation with the location of another one."""
    operation = replace(
        like,
        name=name,
        operands=operands,
        results=[],
        attributes=attributes,
        regions=like.regions if keeps_regions else [],
    )
    operation.results = [
        Value(TensorType(shape, operand.type.element), operation, number)
        for number, (shape, operand) in enumerate(zip(shapes, operands, strict=False))
    ]
    return operation
