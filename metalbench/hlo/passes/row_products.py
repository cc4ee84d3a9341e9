"""Rows and the product that reads them: one operation, `row_product`; the rows never lie in memory.

Preconditions: a `rows` operation over the last axis alone, of at most `MOST_WIDTH` elements, gives
a tensor that nothing but a product of floats reads, as its left operand without batches, contracted
over that axis; the right operand is there before the rows, and has at most `MOST_COLUMNS` columns;
the number of rows is a multiple of `ROWS`. What is done to the product's elements comes with it.
"""

from __future__ import annotations

from math import prod

from metalbench.hlo.graph import Block, Operation, Value, splat
from metalbench.hlo.passes.attention import uses_of
from metalbench.hlo.passes.elementwise import ELEMENTWISE
from metalbench.hlo.passes.rows import rename, rows_of

# Rows of a threadgroup: what it reads of the right operand is read once for all of them.
ROWS = 4
# Of a row: so many are in registers of a SIMD-group, and those of `ROWS` in threadgroup memory.
MOST_WIDTH = 1024
# Sums that a thread has for each row, by the threads of `ROWS` SIMD-groups.
MOST_COLUMNS = 2048
# Kinds of devices whose tiles of products are faster with rows that lie in memory.
SLOWER_ON = ("cpu",)


def fuse_row_products(block: Block, device: str = "") -> None:
    """Replace such two operations by one, in place, also in regions of control flow.

    Not if `device`, the kind that is to run it, is known for being slower with it.
    """
    if device in SLOWER_ON:
        return
    for operation in list(block.operations):
        if operation.name in ("case", "if", "while"):
            for region in operation.regions:
                fuse_row_products(region, device)
        if operation.name == "rows":
            _fuse(block, operation)


def _fuse(block: Block, rows: Operation) -> None:
    at = block.operations.index(rows)
    behind = set(block.operations[at:])
    uses = uses_of(block)
    for value in rows.results:
        readers = [each for each in block.operations if value in each.inputs()]
        if uses[value] == 1 and len(readers) == 1 and _fits(rows, value, readers[0], behind):
            _replace(block, at, value, readers[0])
            return


def _fits(rows: Operation, value: Value, product: Operation, behind: set[Operation]) -> bool:
    if product.name != "dot_general" or product.operands[0] is not value:
        return False
    reduction = next(each for each in rows.regions[0].operations if each.name == "reduce")
    shape, numbers = rows_of(reduction), product.attributes["dot_dimension_numbers"]
    right, result = product.operands[1], product.results[0].type
    return (
        shape is not None
        and value.type.shape == shape.whole
        and len(shape.inner) == 1
        and shape.inner[0] <= MOST_WIDTH
        and prod(shape.outer) % ROWS == 0
        and not numbers["lhs_batching_dimensions"]
        and tuple(numbers["lhs_contracting_dimensions"]) == (len(shape.outer),)
        and all(each.element.is_float for each in (value.type, right.type, result))
        and right is not value
        and right.operation not in behind
        and 0 < right.type.size // shape.inner[0] <= MOST_COLUMNS
    )


def _epilogue(block: Block, product: Operation, behind: set[Operation]) -> list[Operation]:
    """What is done to the product's elements, up to what alone is used elsewhere; or nothing.

    What is read there besides must be there before the rows, or be a number.
    """
    found: list[Operation] = []
    own = {product.results[0]}
    for each in block.operations[block.operations.index(product) + 1 :]:
        others = [value for value in each.operands if value not in own]
        if (
            each.name in ELEMENTWISE
            and len(others) < len(each.operands)
            and each.results[0].type.shape == product.results[0].type.shape
            and all(value.operation not in behind or _is_number(value) for value in others)
        ):
            found.append(each)
            own.update(each.results)
    used = set(block.returned)
    for each in block.operations:
        if each not in found:
            used.update(each.inputs())
    outputs = [each for each in (product, *found) if each.results[0] in used]
    return found if len(outputs) == 1 and outputs[0] in found else []


def _is_number(value: Value) -> bool:
    operation = value.operation
    if operation is None or operation.name != "constant":
        return False
    return splat(operation.attributes["value"]) is not None


def _replace(block: Block, at: int, value: Value, product: Operation) -> None:
    """The product's result is the first one then, behind it those of the rows that are left."""
    rows = block.operations[at]
    region = rows.regions[0]
    epilogue = _epilogue(block, product, set(block.operations[at:]))
    last = epilogue[-1] if epilogue else product
    product.operands[0] = region.returned[value.number]
    left = [each for each in rows.results if each is not value]
    returned = [last.results[0], *(region.returned[each.number] for each in left)]
    inner = Block([], [*region.operations, product, *epilogue], returned)
    made = Operation("row_product", [], [], {}, [inner], product.location)
    made.results = [Value(each.type, made, number) for number, each in enumerate(returned)]
    new = dict(zip([last.results[0], *left], made.results, strict=True))
    taken = {product, *epilogue}
    block.operations = [each for each in block.operations if each not in taken]
    block.operations[at] = made
    for each in block.operations[at + 1 :]:
        rename(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
