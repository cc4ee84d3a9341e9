"""Describe a product as a batch of matrix products, and decide whether to use matrix tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from metalbench.hlo.graph import Operation

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
    if device in DEVICES_WITHOUT_TILES:
        return False
    values = [*product.operands, product.results[0]]
    if not all(each.type.element.is_float for each in values):
        return False
    return min(find_product_shape(product).sizes) >= MIN_EXTENT
