"""Generate the product of rows by tiles: a threadgroup first computes the scalars of its rows.

The scalars are reductions of a row, and values computed from them for a whole row, such as a mean
and a scale. With them, the product's source computes each element of the rows, so rows are never
stored. Hand-written kernels do the same (kernels/include/metalbench/product_norms.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.hlo.emission.elementwise import cast_to_float
from metalbench.hlo.emission.kernel import GeneratedKernel
from metalbench.hlo.emission.matrices import MATRIX_THREADS, MatrixKernelBuilder
from metalbench.hlo.emission.rows import LANES, bind_reduced_value, describe_reduction
from metalbench.hlo.emission.writer import Index, KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation, Value
from metalbench.hlo.passes.rows import RowShape, find_row_shape


def build_row_product_kernel(
    name: str, operation: Operation, inlined: set[Value], *, device: str = ""
) -> GeneratedKernel:
    """Return one kernel, for devices with matrix tiles.

    `passes.row_products` documents the region.
    """
    del device
    region = operation.regions[0]
    operations = region.operations
    (product,) = (each for each in operations if each.name == "dot_general")
    reductions = [each for each in operations if each.name == "reduce"]
    rows = find_row_shape(reductions[0])
    if rows is None:
        raise AssertionError("expected a reduction of rows in the region of row_product")
    own = inlined | {each for one in operations for each in one.results}
    numbers = _find_row_scalars(operations, rows)
    more = {
        f"of{n}": f"threadgroup const {get_msl_type(each.type)}*" for n, each in enumerate(numbers)
    }
    builder = MatrixKernelBuilder(name, product, own, operation.results, {**more, "first": "int"})
    scalars = _RowScalars(builder, rows, reductions, numbers)
    between = scalars.format_statements(region.returned[1:])
    writer = builder.create_writer()
    index = writer.unravel_index("own", rows.outer)
    for number, value in enumerate(numbers):
        text = writer.declare(get_msl_type(value.type), f"of{number}[own - first]")
        writer.bind_value(value, _expand_row_index(index, value, rows), text)
    element = writer.emit_value(product.operands[0], builder.locate_element(writer, 0))
    left = builder.build_source(0, writer, element)
    return builder.build(
        left, builder.build_operand(1), builder.build_epilogue([region.returned[0]]), between
    )


def _find_row_scalars(operations: Sequence[Operation], rows: RowShape) -> list[Value]:
    """Return the values with one scalar for each row that elements of the rows depend on."""
    found: dict[Value, None] = {}
    for each in operations:
        if each.results[0].type.shape == rows.full:
            for value in each.operands:
                if value.operation in operations and value.type.shape in rows.scalars:
                    found[value] = None
    return list(found)


def _expand_row_index(index: Index, value: Value, rows: RowShape) -> Index:
    """Return the index of a row's scalar, whose shape may include the axis of the row."""
    return index if value.type.shape == rows.outer else (*index, *("0" for _ in rows.inner))


@dataclass(frozen=True)
class _RowScalars:
    """Code that computes the scalars of a threadgroup's rows, one row for each SIMD-group."""

    builder: MatrixKernelBuilder
    rows: RowShape
    reductions: Sequence[Operation]
    numbers: Sequence[Value]

    def format_statements(self, others: Sequence[Value]) -> list[str]:
        """Return the statements before the product; `others` are further results to store."""
        side, count = self.builder.shape.side, self.builder.shape.sizes[0]
        writer = self.builder.create_writer()
        writer.add_line("const int first = int(corner.y);")
        for number, value in enumerate(self.numbers):
            writer.add_line(f"threadgroup {get_msl_type(value.type)} of{number}[{side}];")
        head = f"for (int r = int(simdgroup); r < {side}; r += {MATRIX_THREADS // LANES})"
        with writer.open_block(head):
            row = writer.declare("int", "first + r", "row")
            writer.add_line(f"if ({row} >= {count}) break;")
            index = writer.unravel_index(row, self.rows.outer)
            for reduction in self.reductions:
                self._emit_reduction(writer, reduction, index)
            for number, value in enumerate(self.numbers):
                name = writer.emit_value(value, _expand_row_index(index, value, self.rows))
                writer.add_line(f"if (lane == 0u) of{number}[r] = {name};")
            if others:
                with writer.open_block("if (corner.x == 0u)"):
                    self._emit_stores(writer, others, index)
        writer.add_line("threadgroup_barrier(mem_flags::mem_threadgroup);")
        return [each.removeprefix("  ") for each in writer.lines]

    def _format_column_loop(self) -> str:
        return f"for (int c = int(lane); c < {self.rows.inner[0]}; c += {LANES})"

    def _emit_reduction(self, writer: KernelWriter, reduction: Operation, index: Index) -> None:
        element = reduction.results[0].type.element
        kind, neutral, functor = describe_reduction(reduction)
        total = writer.declare_variable(kind.msl, neutral)
        with writer.open_block(self._format_column_loop()):
            given = writer.emit_value(reduction.operands[0], (*index, "c"))
            own = cast_to_float(given, element) if element.is_float else given
            writer.add_line(f"{total} = {functor}.join({total}, {own});")
        bind_reduced_value(writer, reduction, index, f"{functor}.lanes({total})")

    def _emit_stores(self, writer: KernelWriter, others: Sequence[Value], index: Index) -> None:
        for number, value in enumerate(others, 1):
            shape = value.type.shape
            if shape != self.rows.full:
                at = _expand_row_index(index, value, self.rows)
                text = (
                    f"out{number}[{writer.linearize(at, shape)}] = {writer.emit_value(value, at)};"
                )
                writer.add_line(f"if (lane == 0u) {text}")
                continue
            with writer.open_block(self._format_column_loop()):
                at = (*index, "c")
                writer.add_line(
                    f"out{number}[{writer.linearize(at, shape)}] = {writer.emit_value(value, at)};"
                )
