"""Fuse rows and the product that reads them into `row_product`; rows are never stored.

Preconditions: a `rows` operation over the last axis, of at most `MAX_WIDTH` elements, has a result
that only one product reads. It is the left operand of the product, has no batches, and its last
axis is contracted. The product uses matrix tiles (`matrix_shape.can_use_tiles`), and its right
operand is defined before the rows. Elementwise operations on the product are fused as its epilogue.
"""

from __future__ import annotations

from metalbench.hlo.graph import Block, Operation, Value, count_uses, find_splat, replace_values
from metalbench.hlo.operations import CONTROL_FLOW, ELEMENTWISE
from metalbench.hlo.passes.matrix_shape import can_use_tiles
from metalbench.hlo.passes.rows import find_row_shape

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
        readers = [each for each in block.operations if value in each.find_inputs()]
        if uses[value] != 1 or len(readers) != 1 or readers[0].name != "dot_general":
            continue
        if can_use_tiles(readers[0], device) and _can_fuse_product(rows, value, readers[0], behind):
            _replace_by_row_product(block, at, value, readers[0])
            return


def _can_fuse_product(
    rows: Operation, value: Value, product: Operation, behind: set[Operation]
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


def _is_splat(value: Value) -> bool:
    operation = value.operation
    if operation is None or operation.name != "constant":
        return False
    return find_splat(operation.attributes["value"]) is not None


def _replace_by_row_product(block: Block, at: int, value: Value, product: Operation) -> None:
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
        Value(each.type, operation, number) for number, each in enumerate(returned)
    ]
    new = dict(zip([last.results[0], *left], operation.results, strict=True))
    taken = {product, *epilogue}
    block.operations = [each for each in block.operations if each not in taken]
    block.operations[at] = operation
    for each in block.operations[at + 1 :]:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
