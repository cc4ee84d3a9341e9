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

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from metalbench.devices import find_kind
from metalbench.hlo.ir import (
    Block,
    ElementType,
    Operation,
    TensorValue,
    count_uses,
    find_free_values,
    find_splat,
    replace_values,
)
from metalbench.hlo.operations import CONTROL_FLOW, ELEMENTWISE, REDUCERS
from metalbench.hlo.passes.matrix_products import can_use_tiles

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
    graph = _ProducerGraph(block)
    for rows in dict.fromkeys(found):
        for root in reversed(list(block.operations)):
            group = _collect_group(block, root, rows, graph) if root in graph else set()
            if group:
                _replace_by_rows(block, group)
                graph = _ProducerGraph(block)


def _is_supported_reduction(reduce: Operation) -> bool:
    """Return whether a reduction's region and initial value are those of a reducer."""
    region, element = reduce.regions[0], reduce.results[0].type.element
    if not (element.is_lane_float or element.name in ("i32", "ui32")):
        return False
    if len(region.operations) != 1:
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


class _ProducerGraph:
    """The producers of the operations of a block, while the block is unchanged."""

    def __init__(self, block: Block) -> None:
        self._own = set(block.operations)
        self._producers: dict[Operation, list[Operation]] = {}

    def __contains__(self, operation: Operation) -> bool:
        return operation in self._own

    def list_producers(self, operation: Operation) -> list[Operation]:
        """Return the operations that define the inputs of an operation, also in other blocks."""
        if operation not in self._producers:
            inputs = operation.find_inputs()
            self._producers[operation] = [
                each.operation for each in inputs if each.operation is not None
            ]
        return self._producers[operation]

    def collect(
        self, roots: Iterable[Operation], wanted: Callable[[Operation], bool]
    ) -> set[Operation]:
        """Return operations and their producers in the block, through wanted operations only."""
        found = set(roots)
        waiting = list(found)
        while waiting:
            for each in self.list_producers(waiting.pop()):
                if each not in found and each in self._own and wanted(each):
                    found.add(each)
                    waiting.append(each)
        return found


def _collect_group(
    block: Block, root: Operation, rows: RowShape, graph: _ProducerGraph
) -> set[Operation]:
    """Return the group whose last operation is `root`; it is empty if fusion does not pay."""
    if not _can_fuse(root, rows):
        return set()
    group = graph.collect([root], lambda each: _can_fuse(each, rows))
    if not _is_gain(group, root, rows):
        return set()
    outside = {each for one in group for each in graph.list_producers(one) if each not in group}
    # A producer of an outside input would have to be both before and in the group.
    group -= graph.collect(outside, lambda _: True)
    if root not in group or len(group) > MAX_OPERATIONS or not _is_gain(group, root, rows):
        return set()
    buffers = len(_find_inputs(block, group)) + len(_find_outputs(block, group))
    return group if buffers <= MAX_BUFFERS else set()


def _is_gain(group: set[Operation], root: Operation, rows: RowShape) -> bool:
    """Return whether a kernel of a group saves reading or writing a tensor."""
    reductions = sum(each.name == "reduce" for each in group)
    return reductions > 1 or (reductions == 1 and root.results[0].type.shape == rows.full)


def _find_outputs(block: Block, group: set[Operation]) -> list[TensorValue]:
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


def _find_inputs(block: Block, group: set[Operation]) -> list[TensorValue]:
    """Return the values that a group reads."""
    return list(dict.fromkeys(find_free_values(_create_region(block, group))))


def _replace_by_rows(block: Block, group: set[Operation]) -> None:
    region = _create_region(block, group)
    last = region.operations[-1]
    operation = Operation("rows", [], [], {}, [region], last.location)
    operation.results = [
        TensorValue(each.type, operation, n) for n, each in enumerate(region.returned)
    ]
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


# Fuse rows and the product that reads them into `row_product`; rows are never stored.
#
# Preconditions: a `rows` operation over the last axis, of at most `MAX_WIDTH` elements, has a
# result that only one product reads. It is the left operand of the product, has no batches, and
# its last axis is contracted. The product uses matrix tiles (`matrix_shape.can_use_tiles`), and
# its right operand is defined before the rows. Elementwise operations on the product are fused as
# its epilogue.

# Elements of a row: each threadgroup of a product tile reads the row again.
MAX_WIDTH = 4096


def fuse_row_products(block: Block, device: str = "") -> None:
    """Fuse each such pair into one operation, in place, also in regions of control flow.

    `device` is the target kind; nothing is fused if it does not use matrix tiles.
    """
    for operation in list(block.operations):
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                fuse_row_products(region, device)
        if operation.name == "rows":
            _fuse_product_of(block, operation, device)


def _fuse_product_of(block: Block, rows: Operation, device: str) -> None:
    at = block.operations.index(rows)
    behind = set(block.operations[at:])
    uses = count_uses(block)
    for value in rows.results:
        if uses[value] != 1:
            continue
        readers = [each for each in block.operations if value in each.find_inputs()]
        if len(readers) != 1 or readers[0].name != "dot_general":
            continue
        if can_use_tiles(readers[0], device) and _can_fuse_product(rows, value, readers[0], behind):
            _replace_by_row_product(block, at, value, readers[0])
            return


def _can_fuse_product(
    rows: Operation, value: TensorValue, product: Operation, behind: set[Operation]
) -> bool:
    if product.operands[0] is not value:
        return False
    reduction = next(each for each in rows.regions[0].operations if each.name == "reduce")
    shape, numbers = find_row_shape(reduction), product.attributes["dot_dimension_numbers"]
    right = product.operands[1]
    return (
        shape is not None
        and value.type.shape == shape.full
        and len(shape.inner) == 1
        and shape.inner[0] <= MAX_WIDTH
        and not numbers["lhs_batching_dimensions"]
        and tuple(numbers["lhs_contracting_dimensions"]) == (len(shape.outer),)
        and right is not value
        and right.operation not in behind
    )


def _collect_epilogue(block: Block, product: Operation, behind: set[Operation]) -> list[Operation]:
    """Return the elementwise operations after a product, if only the last one is used elsewhere.

    Their other operands must be splats, or be defined before the rows. The list is empty otherwise.
    """
    found: list[Operation] = []
    own = {product.results[0]}
    for each in block.operations[block.operations.index(product) + 1 :]:
        others = [value for value in each.operands if value not in own]
        if (
            each.name in ELEMENTWISE
            and len(others) < len(each.operands)
            and each.results[0].type.shape == product.results[0].type.shape
            and all(value.operation not in behind or _is_splat(value) for value in others)
        ):
            found.append(each)
            own.update(each.results)
    used = set(block.returned)
    for each in block.operations:
        if each not in found:
            used.update(each.find_inputs())
    outputs = [each for each in (product, *found) if each.results[0] in used]
    return found if len(outputs) == 1 and outputs[0] in found else []


def _is_splat(value: TensorValue) -> bool:
    operation = value.operation
    if operation is None or operation.name != "constant":
        return False
    return find_splat(operation.attributes["value"]) is not None


def _replace_by_row_product(block: Block, at: int, value: TensorValue, product: Operation) -> None:
    """Replace rows, product and epilogue by one operation.

    Its first result is that of the epilogue; the other results of the rows follow.
    """
    rows = block.operations[at]
    region = rows.regions[0]
    epilogue = _collect_epilogue(block, product, set(block.operations[at:]))
    last = epilogue[-1] if epilogue else product
    product.operands[0] = region.returned[value.number]
    left = [each for each in rows.results if each is not value]
    returned = [last.results[0], *(region.returned[each.number] for each in left)]
    inner = Block([], [*region.operations, product, *epilogue], returned)
    operation = Operation("row_product", [], [], {}, [inner], product.location)
    operation.results = [
        TensorValue(each.type, operation, number) for number, each in enumerate(returned)
    ]
    new = dict(zip([last.results[0], *left], operation.results, strict=True))
    taken = {product, *epilogue}
    block.operations = [each for each in block.operations if each not in taken]
    block.operations[at] = operation
    for each in block.operations[at + 1 :]:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]


# Fuse scores, the operations on their rows, and the product with values into `attention`.
#
# Scores and weights are never stored in device memory. Preconditions: a `rows` operation over the
# last axis, of at most `MAX_KEYS` elements, has weights as its only result. One product of floats
# reads the weights and contracts that axis; its leading axes are batches. The `rows` operation
# reads one product of the same shape, and no other operation reads that product.

# A row's weights are in threadgroup memory, its scores in registers of at most 64 threads.
MAX_KEYS = 2048
# The attention kernel reads all keys and values again for each row of scores. With more rows for
# one set of keys, tiled products with stored scores are faster.
MAX_FUSED_ROWS, CPU_MAX_FUSED_ROWS = 8, 1


def fuse_attention(block: Block, device: str = "") -> None:
    """Fuse each such group into one operation, in place, also in regions of control flow.

    `device` is the target kind. Attention with more than MAX_FUSED_ROWS rows is not fused.
    """
    for operation in list(block.operations):
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                fuse_attention(region, device)
        if operation.name == "rows":
            _fuse_attention_around(block, operation, device)


def _fuse_attention_around(block: Block, rows: Operation, device: str) -> None:
    uses = count_uses(block)
    scores, product = _find_scores(block, rows, uses), _find_product(block, rows, uses)
    if scores is None or product is None:
        return
    batches = len(product.attributes["dot_dimension_numbers"]["lhs_batching_dimensions"])
    most = CPU_MAX_FUSED_ROWS if find_kind(device).is_simulated else MAX_FUSED_ROWS
    if prod(rows.results[0].type.shape[batches:-1]) > most:
        return
    region = rows.regions[0]
    product.operands = [
        region.returned[0] if each is rows.results[0] else each for each in product.operands
    ]
    inner = Block([], [scores, *region.operations, product], list(product.results))
    operation = Operation("attention", [], [], {}, [inner], product.location)
    operation.results = [TensorValue(product.results[0].type, operation)]
    at = block.operations.index(product)
    new = {product.results[0]: operation.results[0]}
    for each in block.operations[at + 1 :]:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
    block.operations[at] = operation
    block.operations = [each for each in block.operations if each not in (scores, rows)]
    _fuse_result_moves(block, operation)


def _fuse_result_moves(block: Block, attention: Operation) -> None:
    """Fuse a transpose of the result, and then reshapes, into the operation.

    The attribute `permutation` lists the axes of the product in their order in memory.
    """
    order = tuple(range(len(attention.results[0].type.shape)))
    reshaped = False
    while True:
        result = attention.results[0]
        readers = [each for each in block.operations if result in each.find_inputs()]
        if len(readers) != 1 or result in block.returned:
            break
        (reader,) = readers
        if reader.name == "transpose" and not reshaped:
            order = tuple(order[axis] for axis in reader.attributes["permutation"])
        elif reader.name == "reshape":
            reshaped = True
        else:
            break
        moved = reader.results[0]
        attention.results = [TensorValue(moved.type, attention)]
        new = {moved: attention.results[0]}
        block.operations.remove(reader)
        for each in block.operations:
            replace_values(each, new)
        block.returned = [new.get(each, each) for each in block.returned]
    attention.attributes["permutation"] = order


def _find_scores(block: Block, rows: Operation, uses: Counter[TensorValue]) -> Operation | None:
    """Return the product whose rows a `rows` operation reads, if it meets the preconditions."""
    shapes = [find_row_shape(each) for each in rows.regions[0].operations if each.name == "reduce"]
    if shapes[0] is None or len(shapes[0].inner) != 1 or shapes[0].inner[0] > MAX_KEYS:
        return None
    own = set(block.operations)
    found = [
        value.operation
        for value in dict.fromkeys(find_free_values(rows.regions[0]))
        if value.operation in own
        and value.operation.name == "dot_general"
        and value.type.shape == shapes[0].full
        and value.type.element.is_lane_float
        and uses[value] == 1
    ]
    return found[0] if len(found) == 1 else None


def _find_product(block: Block, rows: Operation, uses: Counter[TensorValue]) -> Operation | None:
    """Return the product that contracts the weights, if it meets the preconditions."""
    weights = rows.results[0]
    readers = [each for each in block.operations if weights in each.find_inputs()]
    if len(rows.results) != 1 or uses[weights] != 1 or len(readers) != 1:
        return None
    (product,) = readers
    if product.name != "dot_general" or product.operands.count(weights) != 1:
        return None
    side = "lhs" if product.operands[0] is weights else "rhs"
    numbers, rank = product.attributes["dot_dimension_numbers"], len(weights.type.shape)
    batches = tuple(numbers[f"{side}_batching_dimensions"])
    fits = (
        tuple(numbers[f"{side}_contracting_dimensions"]) == (rank - 1,)
        and batches == tuple(range(len(batches)))
        and product.results[0].type.element.is_lane_float
        and product.results[0].type.size > 0
    )
    return product if fits else None
