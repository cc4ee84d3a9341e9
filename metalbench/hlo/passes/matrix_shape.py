"""Products as batches of matrices, and which of them tiles of matrices are worth it for."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from metalbench.hlo.graph import Operation

# Kinds of devices that have no use for such tiles: a thread has rows and columns there (tiles.py).
DEVICES_WITHOUT_TILES = ("", "cpu")
# A product with fewer rows, columns or terms of a sum fills no tile.
MIN_EXTENT = 16
# Rows and columns of a tile: the largest that has so many threadgroups, else the last.
TILE_SIDES, MIN_THREADGROUPS = (64, 32), 128


@dataclass(frozen=True)
class MatrixProductShape:
    """Extents of the axes that are batches, rows, columns and depth, and which axes these are.

    `axes` has for each operand those of batches, its own, and those that are contracted.
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
        """Tiles across, down and in all batches."""
        rows, columns, _ = self.sizes
        across, down = -(-columns // self.side), -(-rows // self.side)
        return across, down, across * down * prod(self.batches)

    def _count_tiles(self, side: int) -> int:
        rows, columns, _ = self.sizes
        return -(-rows // side) * -(-columns // side) * prod(self.batches)

    def is_contiguous_along_depth(self, operand: int) -> bool:
        """Whether neighbours in the operand's buffer follow each other in depth."""
        _, own, depth = self.axes[operand]
        return max(depth) > max(own)

    def has_matrix_layout(self, operand: int) -> bool:
        """Whether its buffer has matrix by matrix, each row by row, however that is called."""
        batch, own, depth = self.axes[operand]
        order = (
            (*batch, *own, *depth)
            if self.is_contiguous_along_depth(operand)
            else (*batch, *depth, *own)
        )
        return order == tuple(range(len(order)))


def find_product_shape(product: Operation) -> MatrixProductShape:
    """Of a `dot_general`."""
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
    """Whether a product is one for tiles of matrices on such a device."""
    if device in DEVICES_WITHOUT_TILES:
        return False
    values = [*product.operands, product.results[0]]
    if not all(each.type.element.is_float for each in values):
        return False
    return min(find_product_shape(product).sizes) >= MIN_EXTENT
