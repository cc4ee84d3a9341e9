"""Emit the product of a row in threadgroup memory with a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from metalbench.hlo.emission.reductions import ProductSum
from metalbench.hlo.emission.writer import Index, KernelWriter, format_loop, get_msl_type
from metalbench.hlo.graph import Operation, Value

SHARED_ROW = "weights"


@dataclass(frozen=True)
class SharedRow:
    """The row with this index, in the threadgroup array `SHARED_ROW`.

    `place` is the number of a thread in its threadgroup of `threads`.
    """

    row: Index
    place: str
    threads: int

    def declare(self, writer: KernelWriter, value: Value) -> None:
        """Declare the array for a row of `value`."""
        writer.add_line(
            f"threadgroup {get_msl_type(value.type)} {SHARED_ROW}[{value.type.shape[-1]}];"
        )

    def multiply(self, writer: KernelWriter, product: Operation, side: int) -> RowProducts:
        """Emit the product; the row belongs to the operand on this side.

        Each thread reads an element of the row once for all of its columns.
        """
        of_values = "rhs" if side == 0 else "lhs"
        numbers = product.attributes["dot_dimension_numbers"]
        own, values = product.operands[side], product.operands[1 - side]
        (key,) = numbers[f"{of_values}_contracting_dimensions"]
        batches = numbers[f"{of_values}_batching_dimensions"]
        shape = values.type.shape
        free = [axis for axis in range(len(shape)) if axis not in (*batches, key)]
        extents = [shape[axis] for axis in free]
        columns = self._locate_columns(writer, extents)
        sums = [ProductSum(writer, product.results[0].type) for _ in columns]
        counter = writer.make_name("k")
        with writer.open_block(format_loop(counter, shape[key])):
            weight = writer.declare(get_msl_type(own.type), f"{SHARED_ROW}[{counter}]")
            for total, (column, _) in zip(sums, columns, strict=True):
                place = {
                    **dict(zip(batches, self.row, strict=False)),
                    **dict(zip(free, column, strict=True)),
                    key: counter,
                }
                value = writer.emit_value(values, [place[axis] for axis in range(len(shape))])
                total.add_product([weight, value], (own.type, values.type))
        return RowProducts(self, product, side, extents, columns, sums)

    def _locate_columns(
        self, writer: KernelWriter, extents: Sequence[int]
    ) -> list[tuple[Index, str]]:
        """Return the indices of a thread's columns, each with the guard of its store.

        Out-of-bounds columns repeat the last one, and are not stored.
        """
        found, width = [], prod(extents)
        for start in range(0, width, self.threads):
            column = writer.declare("int", f"int({self.place}) + {start}", "column")
            inside = ""
            if start + self.threads > width:
                inside = f"if ({column} < {width}) "
                column = writer.declare("int", f"min({column}, {width - 1})", "column")
            found.append((writer.unravel_index(column, extents), inside))
        return found


@dataclass(frozen=True)
class RowProducts:
    """The sums of a thread: one for each of its `columns`.

    `extents` are the sizes of the other operand's axes that the columns index.
    """

    shared: SharedRow
    product: Operation
    side: int
    extents: Sequence[int]
    columns: Sequence[tuple[Index, str]]
    sums: Sequence[ProductSum]

    def store(self, writer: KernelWriter, order: Sequence[int]) -> None:
        """Emit the stores to the first output, whose axes are in an order."""
        stored = self.product.results[0].type.shape
        for total, (column, inside) in zip(self.sums, self.columns, strict=True):
            index = self._locate_element(self.shared.row, column)
            places = [index[axis] for axis in order]
            at = writer.linearize(places, [stored[axis] for axis in order])
            writer.add_line(f"{inside}out0[{at}] = {total.declare_result()};")

    def _locate_element(self, row: Index, column: Index) -> Index:
        """Return the index of an element of the result."""
        if self.side == 0:
            return (*row, *column)
        numbers = self.product.attributes["dot_dimension_numbers"]
        shared = len(numbers["rhs_batching_dimensions"])
        return (*row[:shared], *column, *row[shared:])
