"""Rows in threadgroup memory, and the product that they are an operand of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from metalbench.hlo.emission.reductions import Sum
from metalbench.hlo.emission.writer import Index, Writer, loop, msl
from metalbench.hlo.graph import Operation, Value

MEMORY = "weights"


@dataclass(frozen=True)
class SharedRows:
    """Rows with these indices, one behind the other in `MEMORY`, of a threadgroup's `threads`.

    `place` is a thread's number among them.
    """

    rows: Sequence[Index]
    place: str
    threads: int

    def declare(self, writer: Writer, value: Value) -> None:
        """The memory, for rows of `value`."""
        count = len(self.rows) * value.type.shape[-1]
        writer.line(f"threadgroup {msl(value.type)} {MEMORY}[{count}];")

    def multiply(self, writer: Writer, product: Operation, side: int) -> Products:
        """The rows are the product's operand on that side.

        Each thread reads an element of them once for all of its columns, and one of the other
        operand once for all rows.
        """
        of_values = "rhs" if side == 0 else "lhs"
        numbers = product.attributes["dot_dimension_numbers"]
        own, values = product.operands[side], product.operands[1 - side]
        (key,) = numbers[f"{of_values}_contracting_dimensions"]
        batches = numbers[f"{of_values}_batching_dimensions"]
        shape = values.type.shape
        free = [axis for axis in range(len(shape)) if axis not in (*batches, key)]
        extents = [shape[axis] for axis in free]
        columns = self._columns(writer, extents)
        sums = [[Sum(writer, product.results[0].type) for _ in columns] for _ in self.rows]
        counter = writer.fresh("k")
        with writer.block(loop(counter, shape[key])):
            starts = ["", *(f"{number * shape[key]} + " for number in range(1, len(self.rows)))]
            texts = [f"{MEMORY}[{start}{counter}]" for start in starts]
            weights = [writer.declare(msl(own.type), each) for each in texts]
            for number, (column, _) in enumerate(columns):
                place = {
                    **dict(zip(batches, self.rows[0], strict=False)),
                    **dict(zip(free, column, strict=True)),
                    key: counter,
                }
                value = writer.value(values, [place[axis] for axis in range(len(shape))])
                for weight, row in zip(weights, sums, strict=True):
                    row[number].add_product([weight, value], (own.type, values.type))
        return Products(self, product, side, extents, columns, sums)

    def _columns(self, writer: Writer, extents: Sequence[int]) -> list[tuple[Index, str]]:
        """A thread's columns: their indices, and the head of what is stored.

        Where there is none, it is the last one again, which is not stored.
        """
        found, width = [], prod(extents)
        for start in range(0, width, self.threads):
            column = writer.declare("int", f"int({self.place}) + {start}", "column")
            inside = ""
            if start + self.threads > width:
                inside = f"if ({column} < {width}) "
                column = writer.declare("int", f"min({column}, {width - 1})", "column")
            found.append((writer.unravel(column, extents), inside))
        return found


@dataclass(frozen=True)
class Products:
    """What a thread has of a product: of each of the shared `rows` a sum for each of `columns`.

    These are counted by the axes that the other operand has, of `extents`.
    """

    shared: SharedRows
    product: Operation
    side: int
    extents: Sequence[int]
    columns: Sequence[tuple[Index, str]]
    sums: Sequence[Sequence[Sum]]

    def store(self, writer: Writer, order: Sequence[int]) -> None:
        """All of them, into the first output, whose axes lie in an order."""
        stored = self.product.results[0].type.shape
        for row, sums in zip(self.shared.rows, self.sums, strict=True):
            for total, (column, inside) in zip(sums, self.columns, strict=True):
                index = self._index(row, column)
                places = [index[axis] for axis in order]
                at = writer.linear(places, [stored[axis] for axis in order])
                writer.line(f"{inside}out0[{at}] = {total.result()};")

    def _index(self, row: Index, column: Index) -> Index:
        """Of an element of the result."""
        if self.side == 0:
            return (*row, *column)
        numbers = self.product.attributes["dot_dimension_numbers"]
        shared = len(numbers["rhs_batching_dimensions"])
        return (*row[:shared], *column, *row[shared:])
