"""Generate kernels that keep a row in registers; SIMD-groups reduce it."""

from __future__ import annotations

from math import prod

from metalbench.hlo.emission.elementwise import cast_to_float
from metalbench.hlo.emission.kernel import EMITTERS, THREADS, GeneratedKernel, build_kernel
from metalbench.hlo.emission.literal import format_literal
from metalbench.hlo.emission.writer import Index, KernelWriter
from metalbench.hlo.graph import ELEMENT_TYPES, ElementType, Operation, Value
from metalbench.hlo.passes.rows import RowShape, find_row_shape, get_identity_element

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
    name: str, operation: Operation, inlined: set[Value], *, device: str = ""
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

    def emit_store(self, value: Value, output: str) -> None:
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
