"""Generate products of packed operands: panels of lines, contiguous in memory along the depth.

`passes/packed_products.py` makes these operations. A panel holds `width` lines of an operand: the
elements of all its lines at one depth are neighbours. So a thread that computes a tile reads
contiguous memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from metalbench.hlo.codegen.reductions import ProductSum, open_loops
from metalbench.hlo.codegen.writer import (
    Emitter,
    Index,
    KernelWriter,
    format_loop,
    get_msl_type,
)
from metalbench.hlo.ir import Operation

UNROLL = "#pragma clang loop unroll(full)"


def emit_packed_tile(writer: KernelWriter, operation: Operation, tile: Index, row_axis: int) -> str:
    """Emit a packed product's elements of a tile; return the name of an array that holds them.

    They are loops, which the compiler unrolls: the text is compiled in a fraction of the time.
    """
    left, right = operation.operands
    rows, columns = operation.attributes["tile"]
    batches, packs_rows = (operation.attributes[each] for each in ("batches", "packs_rows"))
    total = ProductSum(writer, operation.results[0].type, count=rows * columns)
    (outer, own), last = (tile[:batches], tile[batches:row_axis]), tile[row_axis + 1 :]
    size = operation.results[0].type.shape[row_axis]
    with ExitStack() as stack:
        (k,) = open_loops(writer, stack, [right.type.shape[-2]])
        row, column, line = (writer.make_name(each) for each in ("row", "column", "line"))
        writer.add_line(f"{get_msl_type(right.type)} {line}[{columns}];")
        writer.add_line(UNROLL)
        with writer.open_block(format_loop(column, columns)):
            found = writer.emit_value(right, (*outer, *last, k, column))
            writer.add_line(f"{line}[{column}] = {found};")
        writer.add_line(UNROLL)
        with writer.open_block(format_loop(row, rows)):
            place: tuple[str, ...] = (tile[row_axis], k, row)
            if not packs_rows:
                text = f"{tile[row_axis]} * {rows} + {row}"
                text = f"min({text}, {size - 1})" if size % rows else text
                place = (writer.declare_index(text), k)
            factor = writer.emit_value(left, (*outer, *own, *place))
            writer.add_line(UNROLL)
            with writer.open_block(format_loop(column, columns)):
                names = [factor, f"{line}[{column}]"]
                total.add_product(names, (left.type, right.type), f"[{row} * {columns} + {column}]")
    return total.declare_results()


def emit_packed_product(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a packed product's element."""
    left, right = operation.operands
    batches, packs_rows = (operation.attributes[each] for each in ("batches", "packs_rows"))
    rows = len(index) - len(right.type.shape) + batches + 2
    row, column = (
        (writer.declare_index(f"{at} / {width}"), writer.declare_index(f"{at} % {width}"))
        for at, width in zip(
            (index[rows - 1], index[-1]), operation.attributes["tile"], strict=True
        )
    )
    total = ProductSum(writer, operation.results[0].type)
    with ExitStack() as stack:
        (k,) = open_loops(writer, stack, [right.type.shape[-2]])
        place = (*index[: rows - 1], row[0], k, row[1]) if packs_rows else (*index[:rows], k)
        names = [
            writer.emit_value(left, place),
            writer.emit_value(right, (*index[:batches], *index[rows:-1], column[0], k, column[1])),
        ]
        total.add_product(names, (left.type, right.type))
    return [total.declare_result()]


PACKED_EMITTERS: dict[str, Emitter] = {"packed_product": emit_packed_product}
