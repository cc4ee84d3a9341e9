"""Attention: a row of scores in registers, its weights in threadgroup memory, then the values."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from metalbench.hlo.emission.kernel import EMITTERS, Kernel, kernel_of
from metalbench.hlo.emission.reductions import Sum, products
from metalbench.hlo.emission.rows import Row
from metalbench.hlo.emission.writer import Index, Writer, loop, msl
from metalbench.hlo.graph import Operation, Value
from metalbench.hlo.passes.rows import rows_of

# Scores that a thread has: few threads have the whole row, and so all have values to add up.
SLOTS = 32


def attention_kernel(
    name: str, operation: Operation, inlined: set[Value], *, device: str = ""
) -> Kernel:
    """A threadgroup a row of scores, on any device; `passes.attention` says what the region has."""
    del device
    region = operation.regions[0]
    scores, *between, product = region.operations
    writer = Writer(EMITTERS, inlined | {each for one in region.operations for each in one.results})
    reductions = [each for each in between if each.name == "reduce"]
    rows = rows_of(reductions[0])
    if rows is None:
        raise AssertionError("attention has a reduction of rows")
    row = Row(writer, rows, SLOTS)
    indices = [index for index, _ in row.slots]
    for index, score in zip(indices, products(writer, scores, indices), strict=True):
        writer.note(scores.results[0], index, score)
    for number, reduction in enumerate(reductions):
        row.join(reduction, number)
    side = 0 if product.operands[0].operation in between else 1
    weights = product.operands[side]
    writer.line(f"threadgroup {msl(weights.type)} weights[{rows.inner[0]}];")
    for index, inside in row.slots:
        head = "" if inside == "true" else f"if ({inside}) "
        writer.line(f"{head}weights[{index[-1]}] = {writer.value(weights, index)};")
    writer.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
    order = operation.attributes["permutation"]
    _add_values(writer, product, side, row, order)
    threads = prod(rows.outer) * row.threads
    return kernel_of(name, writer, operation.results, threads, row.threads)


def _add_values(
    writer: Writer, product: Operation, side: int, row: Row, order: Sequence[int]
) -> None:
    """Each thread has some of the result's elements of this row; they share a weight's reading.

    They are stored in another order of axes.
    """
    weights, values = product.operands[side], product.operands[1 - side]
    of_values, of_weights = ("rhs", "lhs") if side == 0 else ("lhs", "rhs")
    numbers = product.attributes["dot_dimension_numbers"]
    batches = numbers[f"{of_values}_batching_dimensions"]
    (key,) = numbers[f"{of_values}_contracting_dimensions"]
    shape = values.type.shape
    free = [axis for axis in range(len(shape)) if axis not in (*batches, key)]
    width = prod(shape[axis] for axis in free)
    columns: list[tuple[Index, str]] = []
    for start in range(0, width, row.threads):
        column = writer.declare("int", f"int(place) + {start}", "column")
        inside = ""
        if start + row.threads > width:
            inside = f"if ({column} < {width}) "
            column = writer.declare("int", f"min({column}, {width - 1})", "column")
        columns.append((writer.unravel(column, [shape[axis] for axis in free]), inside))
    sums = [Sum(writer, product.results[0].type) for _ in columns]
    counter = writer.fresh("k")
    with writer.block(loop(counter, shape[key])):
        weight = writer.declare(msl(weights.type), f"weights[{counter}]")
        for total, (column_index, _) in zip(sums, columns, strict=True):
            place = {
                **dict(zip(batches, row.index, strict=False)),
                **dict(zip(free, column_index, strict=True)),
                key: counter,
            }
            value = writer.value(values, [place[axis] for axis in range(len(shape))])
            total.add_product([weight, value], (weights.type, values.type))
    shared = len(numbers[f"{of_weights}_batching_dimensions"])
    for total, (column_index, inside) in zip(sums, columns, strict=True):
        index = (*row.index, *column_index)
        if side == 1:
            index = (*row.index[:shared], *column_index, *row.index[shared:])
        stored = product.results[0].type.shape
        at = writer.linear([index[axis] for axis in order], [stored[axis] for axis in order])
        writer.line(f"{inside}out0[{at}] = {total.result()};")
