"""Sorts of long lines, as sorts of short runs and merges of these, each over the whole tensor.

The comparator must be a strict weak order, as StableHLO wants it: merging trusts it. Where it is
not, as `LT` on numbers of which some are NaN, the result is not defined there either.
"""

from __future__ import annotations

from dataclasses import replace

from metalbench.hlo.graph import Block, Operation, Value
from metalbench.hlo.operations import CONTROL_FLOW

# One thread sorts that many by moving a few words of memory at a time.
RUN = 256
# Shorter lines are in order before more kernels are launched.
SHORTEST_LINE = 4 * RUN
# On a CPU, where few lines are few lanes of a vector and moving words is cheap: so many lines, and
# how often as long they may be (benchmarks/sorting.py).
FEWER_LINES = ((1, 32), (31, 4))


def split_sorts(block: Block, device: str = "") -> None:
    """Split sorts in place, also in the regions of control flow; `device` is a kind of device."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                split_sorts(region, device)
        if operation.name == "sort":
            operations += _before(operation, device)
        operations.append(operation)
    block.operations = operations


def _shortest(lines: int, device: str) -> int:
    """The least length of lines that are sorted by merging."""
    if device != "cpu":
        return SHORTEST_LINE
    return SHORTEST_LINE * next((times for most, times in FEWER_LINES if lines <= most), 1)


def _before(sort: Operation, device: str) -> list[Operation]:
    """What comes before the last merge, which the operation becomes; nothing if it stays."""
    shape = sort.operands[0].type.shape
    size = shape[sort.attributes.get("dimension", -1)] if shape else 1
    if size < _shortest(sort.operands[0].type.size // max(size, 1), device):
        return []
    attributes, width = sort.attributes, RUN
    made = [_stage(sort, sort.operands, {**attributes, "run": RUN})]
    while 2 * width < size:
        made.append(_stage(sort, made[-1].results, {**attributes, "merged": width}))
        width *= 2
    sort.operands = list(made[-1].results)
    sort.attributes = {**attributes, "merged": width}
    return made


def _stage(like: Operation, operands: list[Value], attributes: dict[str, object]) -> Operation:
    made = replace(like, operands=list(operands), results=[], attributes=attributes)
    made.results = [Value(each.type, made, number) for number, each in enumerate(operands)]
    return made
