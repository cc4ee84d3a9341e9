"""Emit tiles of a matrix product in registers of one thread: common elements are loaded once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from metalbench.hlo.emission.elementwise import ELEMENTWISE_EMITTERS
from metalbench.hlo.emission.reductions import emit_products
from metalbench.hlo.emission.writer import Index, KernelWriter, format_loop, get_msl_type
from metalbench.hlo.graph import Operation, Value

# Rows and columns of sums that a thread holds in registers.
MAX_ROWS, MAX_COLUMNS = 4, 16
# Largest ratio of computed elements to elements of the result.
MAX_WASTE = 1.2


@dataclass(frozen=True)
class RegisterTile:
    """A product of which a thread computes `extents` elements along each result axis.

    `epilogue` is the number of elementwise operations on each of them.
    """

    product: Operation
    extents: tuple[int, ...]
    epilogue: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of tiles along each axis."""
        shape = self.product.results[0].type.shape
        return tuple(-(-size // extent) for size, extent in zip(shape, self.extents, strict=True))

    def locate_elements(self, writer: KernelWriter, tile: Index) -> list[Index]:
        """Return the indices of all elements of a tile, clamped to the result."""
        places = []
        shape = self.product.results[0].type.shape
        for at, size, extent in zip(tile, shape, self.extents, strict=True):
            texts = [at] if extent == 1 else [f"{at} * {extent} + {i}" for i in range(extent)]
            if size % extent:
                texts = [f"min({each}, {size - 1})" for each in texts]
            places.append([writer.declare_index(each) for each in texts])
        return list(itertools.product(*places))

    def emit(self, writer: KernelWriter, indices: Sequence[Index]) -> None:
        """Emit the product's elements, and bind them in the writer."""
        names = emit_products(writer, self.product, indices)
        for index, name in zip(indices, names, strict=True):
            writer.bind_value(self.product.results[0], index, name)

    @contextmanager
    def open_loop(self, writer: KernelWriter, tile: Index) -> Iterator[Index]:
        """Emit the product, and open a loop over its elements; yield the index of one."""
        result = self.product.results[0]
        names = emit_products(writer, self.product, self.locate_elements(writer, tile))
        sums, row, column = (writer.make_name(each) for each in ("sums", "row", "column"))
        writer.add_line(
            f"{get_msl_type(result.type)} {sums}[{len(names)}] = {{{', '.join(names)}}};"
        )
        columns = self.extents[-1]
        with writer.open_block(format_loop(row, len(names) // columns)):
            # The columns of a row are contiguous.
            writer.add_line("#pragma clang loop vectorize(assume_safety)")
            with writer.open_block(format_loop(column, columns)):
                inside = (*writer.unravel_index(row, self.extents[:-1]), column)
                index = tuple(self._locate_element(writer, tile, inside))
                element = writer.declare(
                    get_msl_type(result.type), f"{sums}[{row} * {columns} + {column}]"
                )
                writer.bind_value(result, index, element)
                yield index

    def _locate_element(self, writer: KernelWriter, tile: Index, inside: Index) -> Iterator[str]:
        """Yield the components of the index of one element, clamped to the result."""
        shape = self.product.results[0].type.shape
        for at, size, extent, one in zip(tile, shape, self.extents, inside, strict=True):
            text = at if extent == 1 else f"{at} * {extent} + {one}"
            yield writer.declare_index(f"min({text}, {size - 1})" if size % extent else text)


def find_register_tile(roots: Sequence[Value], inlined: set[Value]) -> RegisterTile | None:
    """Return the tile for a kernel whose root is a matrix product, or computed from one.

    All operations on the product must be elementwise, and both operands must be matrices. Otherwise
    return None.
    """
    product, epilogue = _find_product(roots[0], inlined) if len(roots) == 1 else (None, 0)
    if product is None:
        return None
    numbers = product.attributes["dot_dimension_numbers"]
    left, right = (each.type.shape for each in product.operands)
    batches, contracted = (
        len(numbers[f"lhs_{each}_dimensions"]) for each in ("batching", "contracting")
    )
    row = len(left) - contracted - 1
    shape = product.results[0].type.shape
    if row < batches or len(right) == batches + contracted:
        return None  # a matrix-vector product reads no element twice
    extents = [1] * len(shape)
    extents[row] = _choose_extent(shape[row], MAX_ROWS)
    extents[-1] = _choose_extent(shape[-1], MAX_COLUMNS)
    return RegisterTile(product, tuple(extents), epilogue) if max(extents) > 1 else None


def _choose_extent(size: int, most: int) -> int:
    """Return the number of elements along an axis that one thread computes."""
    while most > 1 and -(-size // most) * most > MAX_WASTE * size:
        most //= 2
    return most


def _find_product(root: Value, inlined: set[Value]) -> tuple[Operation | None, int]:
    """Return the product that a root is computed from, and the number of operations on it."""
    waiting, seen = [root], {root}
    product, count = None, 0
    while waiting:
        value = waiting.pop()
        operation = value.operation
        if operation is None or value.type.shape != root.type.shape:
            continue
        if value is not root and value not in inlined:
            continue
        if operation.name == "dot_general":
            product = product or operation
        elif operation.name in ELEMENTWISE_EMITTERS:
            count += 1
            new = [each for each in operation.operands if each not in seen]
            waiting += new
            seen.update(new)
    return product, count
