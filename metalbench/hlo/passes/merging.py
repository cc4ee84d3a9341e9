"""Lower sorts of long lines to sorts of short runs, and merges of runs.

The comparator must be a strict weak order, as the StableHLO specification requires. Otherwise (such
as `LT` on NaNs) neither StableHLO nor this lowering defines the result.
"""

from __future__ import annotations

from dataclasses import replace

from metalbench.hlo.graph import Block, Operation, Value
from metalbench.hlo.operations import CONTROL_FLOW

# One thread sorts a run by insertion.
RUN_LENGTH = 256
# Shorter lines are sorted faster than further kernels are dispatched.
MIN_LINE_LENGTH = 4 * RUN_LENGTH
# On a CPU, few lines fill few vector lanes, and moving words is cheap. Each pair is a largest
# number of lines, and a factor of MIN_LINE_LENGTH for it (benchmarks/sorting.py).
CPU_LINE_FACTORS = ((1, 32), (31, 4))


def lower_sorts(block: Block, device: str = "") -> None:
    """Lower sorts in place, also in regions of control flow; `device` is the target kind."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                lower_sorts(region, device)
        if operation.name == "sort":
            operations += _lower_sort(operation, device)
        operations.append(operation)
    block.operations = operations


def _find_shortest_line(lines: int, device: str) -> int:
    """Return the smallest length of lines that are sorted by merging."""
    if device != "cpu":
        return MIN_LINE_LENGTH
    return MIN_LINE_LENGTH * next((times for most, times in CPU_LINE_FACTORS if lines <= most), 1)


def _lower_sort(sort: Operation, device: str) -> list[Operation]:
    """Return the operations before the last merge, and make `sort` that merge.

    The list is empty if the sort stays.
    """
    shape = sort.operands[0].type.shape
    size = shape[sort.attributes.get("dimension", -1)] if shape else 1
    if size < _find_shortest_line(sort.operands[0].type.size // max(size, 1), device):
        return []
    attributes, width = sort.attributes, RUN_LENGTH
    operations = [_create_stage(sort, sort.operands, {**attributes, "run": RUN_LENGTH})]
    while 2 * width < size:
        operations.append(
            _create_stage(sort, operations[-1].results, {**attributes, "merged": width})
        )
        width *= 2
    sort.operands = list(operations[-1].results)
    sort.attributes = {**attributes, "merged": width}
    return operations


def _create_stage(
    like: Operation, operands: list[Value], attributes: dict[str, object]
) -> Operation:
    """Return a sort with other operands and attributes."""
    operation = replace(like, operands=list(operands), results=[], attributes=attributes)
    operation.results = [
        Value(each.type, operation, number) for number, each in enumerate(operands)
    ]
    return operation
