"""Generate kernels that keep a row in registers; SIMD-groups reduce it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from metalbench.hlo.codegen.elementwise import cast_to_float
from metalbench.hlo.codegen.kernel import (
    EMITTERS,
    THREADS,
    GeneratedKernel,
    build_kernel,
    find_product,
)
from metalbench.hlo.codegen.reductions import ProductSum, emit_products
from metalbench.hlo.codegen.writer import (
    Index,
    KernelWriter,
    format_literal,
    format_loop,
    get_msl_type,
)
from metalbench.hlo.ir import ELEMENT_TYPES, ElementType, Operation, TensorValue
from metalbench.hlo.passes.row_fusion import RowShape, find_row_shape, get_identity_element

LANES = 32
# Parameters from which a thread computes its row. From these alone the compiler can see that the
# row is uniform in a SIMD-group, and that its lanes hold contiguous elements.
ROW_PARAMETERS = (
    "uint group [[threadgroup_position_in_grid]]",
    "uint simdgroup [[simdgroup_index_in_threadgroup]]",
    "uint lane [[thread_index_in_simdgroup]]",
)
# Elements of a row that a thread holds; longer rows use more threads.
ELEMENTS_PER_THREAD = 8
# On CPUs, barriers between SIMD-groups cost most, so a thread holds more elements.
ELEMENTS_PER_THREAD_BY_DEVICE = {"cpu": 32}


def build_rows_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return one kernel for a `rows` operation; the region's values are in registers."""
    region = operation.regions[0]
    inner = {each for one in region.operations for each in one.results}
    writer = KernelWriter(EMITTERS, inlined | inner)
    reductions = [each for each in region.operations if each.name == "reduce"]
    found = find_row_shape(reductions[0])
    if found is None:
        raise AssertionError("expected a reduction of rows in the region of rows")
    row_writer = RowWriter(
        writer,
        found,
        ELEMENTS_PER_THREAD_BY_DEVICE.get(device, ELEMENTS_PER_THREAD),
        fewest=THREADS,
    )
    for number, reduction in enumerate(reductions):
        row_writer.emit_reduction(reduction, number)
    for number, value in enumerate(region.returned):
        row_writer.emit_store(value, f"out{number}")
    return row_writer.build(name, operation)


class RowWriter:
    """Writer of a kernel whose threads hold elements of one row.

    `slots` lists the indices of a thread's elements, with the condition that each is in the row.
    """

    def __init__(
        self,
        writer: KernelWriter,
        rows: RowShape,
        slots: int = ELEMENTS_PER_THREAD,
        *,
        fewest: int = LANES,
    ) -> None:
        """Emit the position of the thread.

        A threadgroup of `fewest` threads has several rows if a row needs fewer threads.
        """
        self._writer, self._rows = writer, rows
        width = prod(rows.inner)
        self.threads = LANES
        while self.threads * slots < width:
            self.threads *= 2
        self.group = max(self.threads, fewest)
        several = self.group // self.threads
        place, text = "lane", "group"
        if self.threads > LANES:
            place = f"simdgroup * {LANES}u + lane"
        if several > 1:
            text = f"group * {several}u + simdgroup"
        writer.add_line(f"const uint place = {place};")
        row = writer.declare("int", f"int({text})", "row")
        if prod(rows.outer) % several:
            writer.add_line(f"if ({row} >= {prod(rows.outer)}) return;")
        self.index = writer.unravel_index(row, rows.outer)
        self.slots: list[tuple[Index, str]] = []
        for start in range(0, width, self.threads):
            column = writer.declare("int", f"int(place) + {start}", "column")
            inside = "true"
            if start + self.threads > width:
                inside = writer.declare("bool", f"{column} < {width}")
                column = writer.declare("int", f"min({column}, {width - 1})", "column")
            self.slots.append(((*self.index, *writer.unravel_index(column, rows.inner)), inside))

    def build(self, name: str, operation: Operation) -> GeneratedKernel:
        """Return the kernel for all rows."""
        threads = prod(self._rows.outer) * self.threads
        return build_kernel(
            name, self._writer, operation.results, threads, self.group, place=ROW_PARAMETERS
        )

    def emit_reduction(self, reduction: Operation, number: int) -> None:
        """Emit a reduction of the row; all threads of the row receive the result."""
        writer, element = self._writer, reduction.results[0].type.element
        kind, neutral, functor = describe_reduction(reduction)
        total = neutral
        for index, inside in self.slots:
            given = writer.emit_value(reduction.operands[0], index)
            own = cast_to_float(given, element) if element.is_float else given
            own = own if inside == "true" else f"({inside} ? {own} : {neutral})"
            joined = own if total == neutral else f"{functor}.join({total}, {own})"
            total = writer.declare(kind.msl, joined)
        groups = self.threads // LANES
        text = f"{functor}.lanes({total})"
        if groups > 1:
            partial = f"partial{number}"
            writer.add_line(f"threadgroup {kind.msl} {partial}[{groups}];")
            text = f"shlo::reduce_row<{groups}>({functor}, {total}, {partial}, place)"
        bind_reduced_value(writer, reduction, self.index, text)

    def emit_store(self, value: TensorValue, output: str) -> None:
        """Emit the stores of a value of the group to its buffer."""
        writer, shape = self._writer, value.type.shape
        if shape == self._rows.full:
            for index, inside in self.slots:
                name, at = writer.emit_value(value, index), writer.linearize(index, shape)
                head = "" if inside == "true" else f"if ({inside}) "
                writer.add_line(f"{head}{output}[{at}] = {name};")
            return
        index = self.index
        if shape != self._rows.outer:
            index = (*index, *("0" for _ in self._rows.inner))
        name, at = writer.emit_value(value, index), writer.linearize(index, shape)
        writer.add_line(f"if (place == 0u) {output}[{at}] = {name};")


def describe_reduction(reduction: Operation) -> tuple[ElementType, str, str]:
    """Return the accumulation type, identity element, and functor (rows.h) of a reduction."""
    element = reduction.results[0].type.element
    (join,) = reduction.regions[0].operations
    kind = ELEMENT_TYPES["f32"] if element.is_float else element
    return (
        kind,
        format_literal(get_identity_element(join.name, element), kind),
        f"shlo::{join.name.capitalize()}()",
    )


def bind_reduced_value(writer: KernelWriter, reduction: Operation, index: Index, text: str) -> None:
    """Bind the result of a row reduction to the expression `text`, rounded once."""
    kind, element = describe_reduction(reduction)[0], reduction.results[0].type.element
    result = writer.declare(kind.msl, text)
    if element != kind:
        result = writer.declare(element.msl, f"{element.msl}({result})")
    writer.bind_value(reduction.results[0], index, result)


# Generate products of rows with vectors: SIMD-groups read contiguous elements of a row.

# A shorter row does not occupy the lanes.
MIN_ROW_LENGTH = 2 * LANES


def find_row_product(roots: Sequence[TensorValue], inlined: set[TensorValue]) -> Operation | None:
    """Return the product of a kernel whose root is computed from a matrix times a vector.

    The rows of the matrix must be contiguous floats in a buffer. Return None for other kernels.
    """
    product = find_product(roots[0], inlined)[0] if len(roots) == 1 else None
    if product is None or product.name != "dot_general":
        return None
    if not product.results[0].type.element.is_lane_float:
        return None
    numbers = product.attributes["dot_dimension_numbers"]
    shared = sum(len(numbers[f"lhs_{each}_dimensions"]) for each in ("batching", "contracting"))
    free = [len(each.type.shape) - shared for each in product.operands]
    axes = [numbers[f"{side}_contracting_dimensions"] for side in ("lhs", "rhs")]
    if min(free) > 0 or max(free) == 0 or len(axes[0]) != 1:
        return None
    side = 0 if free[0] else 1
    matrix, (axis,) = product.operands[side], axes[side]
    is_row = axis == len(matrix.type.shape) - 1 and matrix.type.shape[axis] >= MIN_ROW_LENGTH
    return product if is_row and matrix not in inlined else None


def build_row_sums_kernel(
    name: str, root: TensorValue, product: Operation, inlined: set[TensorValue]
) -> GeneratedKernel:
    """Return a kernel in which each SIMD-group computes one element of a product."""
    writer = KernelWriter(EMITTERS, inlined)
    shape, several = root.type.shape, THREADS // LANES
    row = writer.declare("int", f"int(group * {several}u + simdgroup)", "row")
    if root.type.size % several:
        writer.add_line(f"if ({row} >= {root.type.size}) return;")
    index = writer.unravel_index(row, shape)
    numbers = product.attributes["dot_dimension_numbers"]
    batches = len(numbers["lhs_batching_dimensions"])
    total = ProductSum(writer, product.results[0].type)
    (axis,) = numbers["lhs_contracting_dimensions"]
    size = product.operands[0].type.shape[axis]
    with writer.open_block(f"for (int k = int(lane); k < {size}; k += {LANES})"):
        free, names = iter(index[batches:]), []
        for value, side in zip(product.operands, ("lhs", "rhs"), strict=True):
            place = dict(zip(numbers[f"{side}_batching_dimensions"], index, strict=False))
            place[numbers[f"{side}_contracting_dimensions"][0]] = "k"
            rank = len(value.type.shape)
            full = [place[each] if each in place else next(free) for each in range(rank)]
            names.append(writer.emit_value(value, full))
        total.add_product(names, [each.type for each in product.operands])
    total.join_lanes()
    with writer.open_block("if (lane == 0u)"):
        writer.bind_value(product.results[0], index, total.declare_result())
        element = writer.emit_root(root, index)
        writer.add_line(f"out0[{writer.linearize(index, shape)}] = {element};")
    threads = root.type.size * LANES
    return build_kernel(name, writer, [root], threads, THREADS, place=ROW_PARAMETERS)


# Emit the product of a row in threadgroup memory with a matrix.

SHARED_ROW = "weights"


@dataclass(frozen=True)
class SharedRow:
    """The row with this index, in the threadgroup array `SHARED_ROW`.

    `place` is the number of a thread in its threadgroup of `threads`.
    """

    row: Index
    place: str
    threads: int

    def declare(self, writer: KernelWriter, value: TensorValue) -> None:
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


# Generate attention kernels.
#
# A row of scores is in registers, its weights are in threadgroup memory; then the values are read.

# Scores of a thread. Few threads hold a whole row, so that each of them has values to sum.
SCORES_PER_THREAD = 32


def build_attention_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
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
