"""Fuse operations on rows (softmax, norms, and operations around them) into one kernel.

A group consists of reductions over the same last axes of tensors of one shape, of elementwise
operations on these tensors and on scalars for each row, and of broadcasts between them. It becomes
one operation, `rows`, whose region holds the operations. A kernel reads a row once and keeps it in
registers.

Preconditions: a reduction has one operand of 32-bit integers or of floats. Its region is one of
`REDUCERS`, and its initial value is the identity element. A row has from `MIN_ROW_LENGTH` to
`MAX_ROW_LENGTH` elements. No path from one operation of a group to another leads through an
operation outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from metalbench.hlo.graph import (
    Block,
    ElementType,
    Operation,
    Value,
    find_free_values,
    replace_values,
)
from metalbench.hlo.operations import CONTROL_FLOW, ELEMENTWISE, REDUCERS

# Shorter rows leave lanes of a SIMD-group idle; longer ones do not fit into its registers.
MIN_ROW_LENGTH, MAX_ROW_LENGTH = 32, 8192
# Limits of a kernel's length and buffers; Metal binds 31 buffers.
MAX_OPERATIONS, MAX_BUFFERS = 64, 24


@dataclass(frozen=True)
class RowShape:
    """The shape of the operand of a row reduction.

    `outer` are the sizes of the axes that count rows, `inner` those of the axes of a row.
    """

    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @property
    def full(self) -> tuple[int, ...]:
        """Shape of all rows."""
        return (*self.outer, *self.inner)

    @property
    def scalars(self) -> tuple[tuple[int, ...], ...]:
        """Shapes that a tensor with one scalar for each row may have."""
        return self.outer, (*self.outer, *(1 for _ in self.inner))


def find_row_shape(reduce: Operation) -> RowShape | None:
    """Return the shape of the rows that a reduction combines, or None if it cannot be fused."""
    if reduce.name != "reduce" or len(reduce.operands) != 2:
        return None
    shape, axes = reduce.operands[0].type.shape, sorted(reduce.attributes["dimensions"])
    split = len(shape) - len(axes)
    if axes != list(range(split, len(shape))) or not _is_supported_reduction(reduce):
        return None
    rows = RowShape(shape[:split], shape[split:])
    return (
        rows if prod(rows.outer) and MIN_ROW_LENGTH <= prod(rows.inner) <= MAX_ROW_LENGTH else None
    )


def fuse_rows(block: Block) -> None:
    """Fuse groups into `rows` operations, in place, also in regions of control flow."""
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                fuse_rows(region)
    found = [rows for each in block.operations if (rows := find_row_shape(each)) is not None]
    for rows in dict.fromkeys(found):
        for root in reversed(list(block.operations)):
            group = _collect_group(block, root, rows) if root in block.operations else set()
            if group:
                _replace_by_rows(block, group)


def _is_supported_reduction(reduce: Operation) -> bool:
    """Return whether a reduction's region and initial value are those of a reducer."""
    region, element = reduce.regions[0], reduce.results[0].type.element
    if len(region.operations) != 1 or not (element.is_float or element.name in ("i32", "ui32")):
        return False
    (join,), initial = region.operations, reduce.operands[1].operation
    return (
        join.name in REDUCERS
        and set(join.operands) == set(region.arguments)
        and region.returned == join.results
        and join.results[0].type.element == element
        and initial is not None
        and initial.name == "constant"
        and bool(
            (
                initial.attributes["value"].reshape(-1)[:1]
                == get_identity_element(join.name, element)
            ).all()
        )
    )


def get_identity_element(join: str, element: ElementType) -> float | int:
    """Return the identity element of a reducer for an element type."""
    if join in ("add", "multiply"):
        return int(join == "multiply")
    if element.is_float:
        return -np.inf if join == "maximum" else np.inf
    limits = np.iinfo(element.storage)
    return int(limits.min if join == "maximum" else limits.max)


def _can_fuse(operation: Operation, rows: RowShape) -> bool:
    """Return whether an operation may be in a group."""
    shape = operation.results[0].type.shape
    if any(each.type.element.is_complex for each in (*operation.operands, *operation.results)):
        return False
    if operation.name == "reduce":
        return find_row_shape(operation) == rows
    if shape != rows.full and shape not in rows.scalars:
        return False
    if operation.name == "reshape":
        # Only axes of one element may differ, so that the scalar of a row keeps its index.
        return operation.operands[0].type.shape in rows.scalars
    return operation.name in ELEMENTWISE or operation.name in ("broadcast_in_dim", "iota")


def _collect_group(block: Block, root: Operation, rows: RowShape) -> set[Operation]:
    """Return the group whose last operation is `root`; it is empty if fusion does not pay."""
    if not _can_fuse(root, rows):
        return set()
    group = _collect_producers(root, block, lambda each: _can_fuse(each, rows))
    outside = [
        value.operation
        for each in group
        for value in each.find_inputs()
        if value.operation is not None and value.operation not in group
    ]
    # A producer of an outside input would have to be both before and in the group.
    for each in outside:
        group -= _collect_producers(each, block, lambda _: True)
    reductions = [each for each in group if each.name == "reduce"]
    is_gain = len(reductions) > 1 or root.results[0].type.shape == rows.full
    if root not in group or not reductions or not is_gain or len(group) > MAX_OPERATIONS:
        return set()
    buffers = len(_find_inputs(block, group)) + len(_find_outputs(block, group))
    return group if buffers <= MAX_BUFFERS else set()


def _collect_producers(
    root: Operation, block: Block, wanted: Callable[[Operation], bool]
) -> set[Operation]:
    """Return an operation and its producers in the block, through wanted operations only."""
    own = set(block.operations)
    found, waiting = {root}, [root]
    while waiting:
        for value in waiting.pop().find_inputs():
            each = value.operation
            if each is not None and each in own and each not in found and wanted(each):
                found.add(each)
                waiting.append(each)
    return found


def _find_outputs(block: Block, group: set[Operation]) -> list[Value]:
    """Return the results of a group that are used outside of it."""
    used = set(block.returned)
    for each in block.operations:
        if each not in group:
            used.update(each.find_inputs())
    return [
        each for one in block.operations if one in group for each in one.results if each in used
    ]


def _create_region(block: Block, group: set[Operation]) -> Block:
    """Return a block of the operations of a group."""
    return Block(
        [], [each for each in block.operations if each in group], _find_outputs(block, group)
    )


def _find_inputs(block: Block, group: set[Operation]) -> list[Value]:
    """Return the values that a group reads."""
    return list(dict.fromkeys(find_free_values(_create_region(block, group))))


def _replace_by_rows(block: Block, group: set[Operation]) -> None:
    region = _create_region(block, group)
    last = region.operations[-1]
    operation = Operation("rows", [], [], {}, [region], last.location)
    operation.results = [Value(each.type, operation, n) for n, each in enumerate(region.returned)]
    before, behind = _partition_others(block, group)
    new = dict(zip(region.returned, operation.results, strict=True))
    for each in behind:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
    block.operations = [*before, operation, *behind]


def _partition_others(
    block: Block, group: set[Operation]
) -> tuple[list[Operation], list[Operation]]:
    """Return the operations that do not depend on a group, and those that do, in order."""
    dependent = {each for one in group for each in one.results}
    before, behind = [], []
    for each in block.operations:
        if each in group:
            continue
        if dependent.isdisjoint(each.find_inputs()):
            before.append(each)
        else:
            behind.append(each)
            dependent.update(each.results)
    return before, behind
