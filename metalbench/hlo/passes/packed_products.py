"""Pack the operands of products for a CPU: what a thread reads becomes contiguous in memory.

A thread computes a tile of the product. It reads a few neighbouring elements at each depth, which
lie a row of the matrix apart. For large matrices every such read misses the caches, and a row of a
power of two maps to few sets of them. A panel holds the lines of one tile, the elements of one
depth after another. Packing reads and writes an operand once; the product reads it for every tile
of the other one.

Preconditions: all elements are floats, neither operand is a vector, and the product has enough rows
to repay the packing.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from metalbench.devices import find_kind
from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue
from metalbench.hlo.operations import CONTROL_FLOW
from metalbench.hlo.passes.matrix_products import MatrixProductShape, find_product_shape

# Rows and columns of a tile: as many sums as vector registers of AVX2 or NEON hold.
TILE = (4, 16)
# A product with fewer rows or less depth does not repay the packing.
MIN_ROWS, MIN_DEPTH = 32, 16
# Largest ratio of the elements of all panels to those of the operand.
MAX_PADDING = 1.2
# A right-hand side of at most this size stays in the first cache without packing.
SMALL_SIZE = 4096


def pack_products(block: Block, device: str = "") -> None:
    """Pack products in place, also in regions of control flow; `device` is the target kind."""
    if not find_kind(device).is_simulated:
        return
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                pack_products(region, device)
        if operation.name == "dot_general":
            shape = find_product_shape(operation)
            if _repays_packing(operation, shape):
                operations += _pack(operation, shape)
        operations.append(operation)
    block.operations = operations


def _repays_packing(product: Operation, shape: MatrixProductShape) -> bool:
    """Return whether a product meets the preconditions."""
    values = [*product.operands, product.results[0]]
    if not (all(each.type.element.is_float for each in values) and shape.rows and shape.columns):
        return False
    rows, columns, depth = shape.sizes
    if rows < MIN_ROWS or depth < MIN_DEPTH or product.results[0].type.size == 0:
        return False
    lines = (shape.rows[-1], shape.columns[-1])
    if any(-(-n // width) * width > MAX_PADDING * n for n, width in zip(lines, TILE, strict=True)):
        return False
    return shape.is_contiguous_along_depth(1) or depth * columns > SMALL_SIZE


def _pack(product: Operation, shape: MatrixProductShape) -> list[Operation]:
    """Make a product one of packed operands; return the operations that pack them."""
    packed = []
    for number, own in enumerate((shape.rows, shape.columns)):
        if number == 0 and _is_row_major(shape):
            continue
        packed.append(_create_panels(product, shape, number, own))
        product.operands[number] = packed[-1].results[0]
    product.name = "packed_product"
    product.attributes = {
        "batches": len(shape.batches),
        "tile": TILE,
        "packs_rows": len(packed) == len(product.operands),
    }
    return packed


def _is_row_major(shape: MatrixProductShape) -> bool:
    """Return whether the elements of each row of the left-hand side are neighbours."""
    return len(shape.depth) == 1 and (
        shape.has_matrix_layout(0) and shape.is_contiguous_along_depth(0)
    )


def _create_panels(
    product: Operation, shape: MatrixProductShape, number: int, own: tuple[int, ...]
) -> Operation:
    """Return the operation that packs an operand."""
    operand, width = product.operands[number], TILE[number]
    # Converted once, and not again for every tile.
    element = operand.type.element.arithmetic
    batch, lines, depth = shape.axes[number]
    sizes = (*shape.batches, *own[:-1], -(-own[-1] // width), prod(shape.depth), width)
    attributes = {"batch": batch, "own": lines, "depth": depth, "width": width}
    found = replace(
        product,
        name="pack_panels",
        operands=[operand],
        results=[],
        attributes=attributes,
    )
    found.results = [TensorValue(TensorType(sizes, element), found)]
    return found
