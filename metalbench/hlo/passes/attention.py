"""Fuse scores, the operations on their rows, and the product with values into `attention`.

Scores and weights are never stored in device memory. Preconditions: a `rows` operation over the
last axis, of at most `MAX_KEYS` elements, has weights as its only result. One product of floats
reads the weights and contracts that axis; its leading axes are batches. The `rows` operation reads
one product of the same shape, and no other operation reads that product.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from metalbench.hlo.graph import (
    Block,
    Operation,
    Value,
    count_uses,
    find_free_values,
    replace_values,
)
from metalbench.hlo.operations import CONTROL_FLOW
from metalbench.hlo.passes.rows import find_row_shape

# A row's weights are in threadgroup memory, its scores in registers of at most 64 threads.
MAX_KEYS = 2048
# On these kinds of devices tiled products with stored scores are faster, unless there is one row:
# the attention kernel reads all keys and values again for each row of scores.
SLOWER_DEVICES = ("cpu",)


def fuse_attention(block: Block, device: str = "") -> None:
    """Fuse each such group into one operation, in place, also in regions of control flow.

    `device` is the target kind. On SLOWER_DEVICES only attention with a single row is fused.
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
    if device in SLOWER_DEVICES and prod(rows.results[0].type.shape[batches:-1]) > 1:
        return
    region = rows.regions[0]
    product.operands = [
        region.returned[0] if each is rows.results[0] else each for each in product.operands
    ]
    inner = Block([], [scores, *region.operations, product], list(product.results))
    operation = Operation("attention", [], [], {}, [inner], product.location)
    operation.results = [Value(product.results[0].type, operation)]
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
        attention.results = [Value(moved.type, attention)]
        new = {moved: attention.results[0]}
        block.operations.remove(reader)
        for each in block.operations:
            replace_values(each, new)
        block.returned = [new.get(each, each) for each in block.returned]
    attention.attributes["permutation"] = order


def _find_scores(block: Block, rows: Operation, uses: Counter[Value]) -> Operation | None:
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
        and value.type.element.is_float
        and uses[value] == 1
    ]
    return found[0] if len(found) == 1 else None


def _find_product(block: Block, rows: Operation, uses: Counter[Value]) -> Operation | None:
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
        and product.results[0].type.element.is_float
        and product.results[0].type.size > 0
    )
    return product if fits else None
