"""Reductions of many elements to few, in two: by parts side by side, and then of these.

The elements keep their order. How they are put together is the implementation's choice, and so is
how often the initial value is (StableHLO's specification, `reduce`).
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt, prod

from metalbench.hlo.graph import Block, Operation, TensorType, Value
from metalbench.hlo.operations import CONTROL_FLOW

# Fewer are added up faster than another kernel is launched.
MIN_ELEMENTS = 512
# As many results keep a device busy.
MAX_RESULTS = 256
MAX_THREADS = 4096
MIN_PARTS = 8


def split_reductions(block: Block) -> None:
    """Split reductions in place, also in the regions of control flow."""
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
    """What comes before a reduction, which is then of the parts; nothing if it stays as it is."""
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
    made = [_create_like(reduce, "reshape", [each], [split], {}) for each in reduce.operands[:half]]
    reshaped = [each.results[0] for each in made]
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
    return [*made, partial]


def _choose_part_count(sizes: list[int], results: int) -> int:
    """Into how many parts; 0 where it is not worth it, or the first axis has no such divisor."""
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
    made = replace(
        like,
        name=name,
        operands=operands,
        results=[],
        attributes=attributes,
        regions=like.regions if keeps_regions else [],
    )
    made.results = [
        Value(TensorType(shape, operand.type.element), made, number)
        for number, (shape, operand) in enumerate(zip(shapes, operands, strict=False))
    ]
    return made
