"""Describe a product as a batch of matrix products, and decide whether to use matrix tiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod

from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue, replace_values
from metalbench.hlo.operations import CONTROL_FLOW

# Kinds of devices that use register tiles instead (tiles.py).
DEVICES_WITHOUT_TILES = ("", "cpu")
# A product with fewer rows, columns or terms does not fill a tile.
MIN_EXTENT = 16
# Sides of a tile: the largest with at least MIN_THREADGROUPS tiles, else the last.
TILE_SIDES, MIN_THREADGROUPS = (64, 32), 128


@dataclass(frozen=True)
class MatrixProductShape:
    """Extents of the batch, row, column and depth axes of a product.

    `axes` holds, for each operand, its batch axes, its own (row or column) axes, and its contracted
    axes.
    """

    batches: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    axes: tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, columns and depth of a matrix product."""
        return prod(self.rows), prod(self.columns), prod(self.depth)

    @property
    def side(self) -> int:
        """Rows and columns of a tile."""
        return next(
            (each for each in TILE_SIDES if self._count_tiles(each) >= MIN_THREADGROUPS),
            TILE_SIDES[-1],
        )

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Number of tiles across, down, and in all batches."""
        rows, columns, _ = self.sizes
        across, down = -(-columns // self.side), -(-rows // self.side)
        return across, down, across * down * prod(self.batches)

    def _count_tiles(self, side: int) -> int:
        """Return the number of tiles with `side` rows and columns."""
        rows, columns, _ = self.sizes
        return -(-rows // side) * -(-columns // side) * prod(self.batches)

    def is_contiguous_along_depth(self, operand: int) -> bool:
        """Return whether the innermost axis of an operand's buffer is a contracted one."""
        _, own, depth = self.axes[operand]
        return max(depth) > max(own)

    def has_matrix_layout(self, operand: int) -> bool:
        """Return whether a buffer holds matrices one after another, each row- or column-major."""
        batch, own, depth = self.axes[operand]
        order = (
            (*batch, *own, *depth)
            if self.is_contiguous_along_depth(operand)
            else (*batch, *depth, *own)
        )
        return order == tuple(range(len(order)))


def find_product_shape(product: Operation) -> MatrixProductShape:
    """Return the shape of a `dot_general`."""
    numbers = product.attributes["dot_dimension_numbers"]
    axes, sizes = [], []
    for side, value in zip(("lhs", "rhs"), product.operands, strict=True):
        batch = tuple(numbers[f"{side}_batching_dimensions"])
        depth = tuple(numbers[f"{side}_contracting_dimensions"])
        shape = value.type.shape
        own = tuple(each for each in range(len(shape)) if each not in (*batch, *depth))
        axes.append((batch, own, depth))
        sizes.append([tuple(shape[each] for each in part) for part in (batch, own, depth)])
    (batches, rows, deep), (_, columns, _) = sizes
    return MatrixProductShape(batches, rows, columns, deep, (axes[0], axes[1]))


def can_use_tiles(product: Operation, device: str) -> bool:
    """Return whether a device should compute a product by matrix tiles."""
    if device in DEVICES_WITHOUT_TILES or product.name != "dot_general":
        return False
    values = [*product.operands, product.results[0]]
    if not all(each.type.element.is_lane_float for each in values):
        return False
    return min(find_product_shape(product).sizes) >= MIN_EXTENT


# Restore batch axes of one element that tracing has removed from a product.
#
# Tracers omit such axes in a product and insert them after it, so the shapes of neighbouring rows
# and products differ, and attention is not recognised. Precondition: the product has no batches,
# and its only use is a reshape or broadcast that inserts axes of one element in front.


def restore_unit_batches(block: Block) -> None:
    """Restore the batch axes in place, also in regions of control flow."""
    uses = Counter(block.returned)
    for each in block.operations:
        uses.update(each.find_inputs())
    for operation in list(block.operations):
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                restore_unit_batches(region)
        product = operation.operands[0].operation if operation.operands else None
        if (
            product in block.operations
            and _can_restore(operation, product)
            and uses[product.results[0]] == 1
        ):
            _restore(block, product, operation)


def _can_restore(reader: Operation, product: Operation) -> bool:
    """Return whether `reader` only inserts axes of one element in front of a product."""
    if product.name != "dot_general" or reader.name not in ("reshape", "broadcast_in_dim"):
        return False
    old, new = product.results[0].type.shape, reader.results[0].type.shape
    count = len(new) - len(old)
    places = tuple(range(count, len(new)))
    return (
        count > 0
        and new == (1,) * count + old
        and tuple(reader.attributes.get("broadcast_dimensions", places)) == places
        and not product.attributes["dot_dimension_numbers"]["lhs_batching_dimensions"]
    )


def _restore(block: Block, product: Operation, reader: Operation) -> None:
    type_ = reader.results[0].type
    count = len(type_.shape) - len(product.results[0].type.shape)
    given = [_prepend_unit_axes(each, count, product) for each in product.operands]
    numbers = product.attributes["dot_dimension_numbers"]
    operation = replace(
        product,
        operands=[each for each, _ in given],
        results=[],
        attributes={**product.attributes, "dot_dimension_numbers": _shift_axes(numbers, count)},
    )
    operation.results = [TensorValue(type_, operation)]
    at = block.operations.index(product)
    new = {reader.results[0]: operation.results[0]}
    for each in block.operations[at + 1 :]:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
    block.operations[at : at + 1] = [*(each for _, one in given for each in one), operation]
    block.operations.remove(reader)


def _shift_axes(numbers: dict[str, tuple[int, ...]], count: int) -> dict[str, tuple[int, ...]]:
    found = {}
    for name, axes in numbers.items():
        later = tuple(each + count for each in axes)
        found[name] = tuple(range(count)) if "batching" in name else later
    return found


def _prepend_unit_axes(
    value: TensorValue, count: int, like: Operation
) -> tuple[TensorValue, list[Operation]]:
    """Return a value with `count` axes of one element in front, and its new operations."""
    type_ = TensorType((1,) * count + value.type.shape, value.type.element)
    producer = value.operation
    if producer is not None and producer.name == "reshape" and producer.operands[0].type == type_:
        return producer.operands[0], []
    found = Operation("reshape", [value], [], {}, [], like.location)
    found.results = [TensorValue(type_, found)]
    return found.results[0], [found]
