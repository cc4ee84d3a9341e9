"""Generate attention kernels.

A row of scores is in registers, its weights are in threadgroup memory; then the values are read.
"""

from __future__ import annotations

from metalbench.hlo.emission.kernel import EMITTERS, GeneratedKernel
from metalbench.hlo.emission.reductions import emit_products
from metalbench.hlo.emission.rows import RowWriter
from metalbench.hlo.emission.shared_row import SHARED_ROW, SharedRow
from metalbench.hlo.emission.writer import KernelWriter
from metalbench.hlo.graph import Operation, Value
from metalbench.hlo.passes.rows import find_row_shape

# Scores of a thread. Few threads hold a whole row, so that each of them has values to sum.
SCORES_PER_THREAD = 32


def build_attention_kernel(
    name: str, operation: Operation, inlined: set[Value], *, device: str = ""
) -> GeneratedKernel:
    """Return a kernel with one threadgroup for each row of scores, for any device.

    `passes.attention` documents the region.
    """
    del device
    region = operation.regions[0]
    scores, *between, product = region.operations
    writer = KernelWriter(
        EMITTERS, inlined | {each for one in region.operations for each in one.results}
    )
    reductions = [each for each in between if each.name == "reduce"]
    rows = find_row_shape(reductions[0])
    if rows is None:
        raise AssertionError("expected a reduction of rows in the region of attention")
    row = RowWriter(writer, rows, SCORES_PER_THREAD)
    indices = [index for index, _ in row.slots]
    for index, score in zip(indices, emit_products(writer, scores, indices), strict=True):
        writer.bind_value(scores.results[0], index, score)
    for number, reduction in enumerate(reductions):
        row.emit_reduction(reduction, number)
    side = 0 if product.operands[0].operation in between else 1
    weights = product.operands[side]
    shared = SharedRow(row.index, "place", row.threads)
    shared.declare(writer, weights)
    for index, inside in row.slots:
        head = "" if inside == "true" else f"if ({inside}) "
        writer.add_line(f"{head}{SHARED_ROW}[{index[-1]}] = {writer.emit_value(weights, index)};")
    writer.add_line("threadgroup_barrier(mem_flags::mem_threadgroup);")
    shared.multiply(writer, product, side).store(writer, operation.attributes["permutation"])
    return row.build(name, operation)
