"""Some rows a threadgroup, which are made by a SIMD-group each, and then multiplied by a matrix."""

from __future__ import annotations

from metalbench.hlo.emission.kernel import EMITTERS, Kernel
from metalbench.hlo.emission.rows import LANES, Row
from metalbench.hlo.emission.shared_rows import MEMORY, SharedRows
from metalbench.hlo.emission.writer import Writer
from metalbench.hlo.graph import Operation, Value
from metalbench.hlo.passes.row_products import MOST_WIDTH, ROWS
from metalbench.hlo.passes.rows import rows_of


def row_product_kernel(
    name: str, operation: Operation, inlined: set[Value], *, device: str = ""
) -> Kernel:
    """One kernel on any device; `passes.row_products` says what the region has."""
    del device
    region = operation.regions[0]
    operations = region.operations
    (product,) = (each for each in operations if each.name == "dot_general")
    writer = Writer(EMITTERS, inlined | {each for one in operations for each in one.results})
    reductions = [each for each in operations if each.name == "reduce"]
    rows = rows_of(reductions[0])
    if rows is None:
        raise AssertionError("a product of rows has a reduction of rows")
    threads = ROWS * LANES
    row = Row(writer, rows, MOST_WIDTH // LANES, fewest=threads)
    for number, reduction in enumerate(reductions):
        row.join(reduction, number)
    member = writer.declare("uint", f"simdgroup * {LANES}u + lane", "member")
    first = writer.declare("int", f"int(group) * {ROWS}", "first")
    indices = [
        writer.unravel(first if n == 0 else f"({first} + {n})", rows.outer) for n in range(ROWS)
    ]
    shared = SharedRows(indices, member, threads)
    left = product.operands[0]
    shared.declare(writer, left)
    start = writer.declare("int", f"int(simdgroup) * {rows.inner[0]}", "start")
    for index, inside in row.slots:
        head = "" if inside == "true" else f"if ({inside}) "
        writer.line(f"{head}{MEMORY}[{start} + {index[-1]}] = {writer.value(left, index)};")
    for number, value in enumerate(region.returned[1:], 1):
        row.write(value, f"out{number}")
    writer.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
    made, root = shared.multiply(writer, product, 0), region.returned[0]
    if root is product.results[0]:
        made.store(writer, range(len(root.type.shape)))
    else:
        made.store_made(writer, root, first, rows.outer)
    return row.kernel(name, operation)
