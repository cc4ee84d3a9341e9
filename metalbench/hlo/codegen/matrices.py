"""Generate matrix products for GPUs: tiles of simdgroup_matrix in threadgroup memory.

The tiles are those of hand-written kernels (kernels/include/metalbench/tiles.h). The generator adds
structs: *sources*, which load the operands from buffers or compute their elements, and an
*epilogue*, which stores results computed from the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from metalbench.hlo.codegen.elementwise import cast_to_float
from metalbench.hlo.codegen.kernel import EMITTERS, GeneratedKernel, build_kernel
from metalbench.hlo.codegen.rows import LANES, bind_reduced_value, describe_reduction
from metalbench.hlo.codegen.writer import Index, KernelWriter, get_msl_type
from metalbench.hlo.ir import Operation, TensorValue
from metalbench.hlo.passes.matrix_products import find_product_shape
from metalbench.hlo.passes.row_fusion import RowShape, find_row_shape

MATRIX_HEADER = '#include "metalbench/tiles.h"\n'
MATRIX_CALL = "metalbench::Product"
MATRIX_THREADS = 128
MATRIX_PARAMETERS = ("uint group [[threadgroup_position_in_grid]]", "PLACE_ARGUMENTS")
# Depth of a tile; tiles.h reduces it for wide elements.
TILE_DEPTH = 32

SOURCE = """struct {name} {{
  using element = {element};
  using Line = int;
  static constant constexpr bool kAlongDepth = {along};
{members}
  INLINED Line line(uint own) const {{ return int(own); }}
  INLINED element at(int own, int k) const {{
{body}
  }}
  INLINED metalbench::Quad<element> quad(thread const Line& own, uint k) const {{
    metalbench::Quad<element> found = metalbench::Quad<element>(element(0));
    if ({beyond}) return found;
    for (int j = 0; j < 4; ++j) {{
      if ({inside}) found[j] = {at};
    }}
    return found;
  }}
}};
"""
EPILOGUE = """struct {name} {{
{members}
  INLINED void one(int row, int column, float sum) const {{
{body}
  }}
  INLINED void operator()(uint row, uint column, threadgroup const float4* sums) const {{
    if (row >= {rows}u) return;
    const float4 four = *sums;
    for (int j = 0; j < 4; ++j) {{
      if (int(column) + j < {columns}) one(int(row), int(column) + j, four[j]);
    }}
  }}
}};
"""


class OperandSource(NamedTuple):
    """The struct of an operand: its text (empty if the library has it), type, initial values.

    `{members}` in the text and `{values}` in the values stand for the members that all structs of
    the kernel have.
    """

    text: str
    type: str
    values: str


@dataclass
class MatrixKernelBuilder:
    """Builder of the kernel of a product; its structs share buffers, each function has a writer.

    `more` maps the names of additional members to their types.
    """

    name: str
    product: Operation
    inlined: set[TensorValue]
    outputs: Sequence[TensorValue]
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shape = find_product_shape(self.product)
        types = {get_msl_type(each.type) for each in self.product.operands}
        self.element = types.pop() if len(types) == 1 else "float"
        self.buffers: dict[TensorValue, str] = {}

    def create_writer(self) -> KernelWriter:
        """Return a writer for another function, which shares the buffers."""
        writer = KernelWriter(EMITTERS, self.inlined)
        writer.buffers = self.buffers
        return writer

    def locate_element(self, writer: KernelWriter, operand: int) -> Index:
        """Return the index of the operand's element in line `own` at depth `k`."""
        shape = self.shape
        sizes = (shape.batches, shape.columns if operand else shape.rows, shape.depth)
        found: dict[int, str] = {}
        for axes, name, extents in zip(
            shape.axes[operand], ("batch", "own", "k"), sizes, strict=True
        ):
            found.update(zip(axes, writer.unravel_index(name, extents), strict=True))
        return tuple(found[each] for each in range(len(found)))

    def build_operand(self, operand: int) -> OperandSource:
        """Return the source of operand 0 or 1, from its buffer or its inlined operations."""
        value = self.product.operands[operand]
        if value not in self.inlined and self.shape.has_matrix_layout(operand):
            return self._build_plain_source(operand, value)
        writer = self.create_writer()
        return self.build_source(
            operand, writer, writer.emit_value(value, self.locate_element(writer, operand))
        )

    def build_source(self, operand: int, writer: KernelWriter, name: str) -> OperandSource:
        """Return the source of an operand whose element `writer` has emitted as `name`."""
        type_ = f"{self.name}_{'right' if operand else 'left'}"
        value = self.product.operands[operand].type.element
        own, depth = self.shape.sizes[operand], self.shape.sizes[2]
        along = self.shape.is_contiguous_along_depth(operand)
        writer.add_line(
            f"return {cast_to_float(name, value) if self.element == 'float' else name};"
        )
        text = SOURCE.format(
            name=type_,
            element=self.element,
            along=str(along).lower(),
            members="{members}",
            body=_format_body(writer),
            beyond=f"own >= {own} || int(k) >= {depth}",
            inside=f"int(k) + j < {depth}" if along else f"own + j < {own}",
            at="at(own, int(k) + j)" if along else "at(own + j, int(k))",
        )
        return OperandSource(text, type_, "{values}")

    def _build_plain_source(self, operand: int, value: TensorValue) -> OperandSource:
        """Return the library's source for an operand in a buffer with matrix layout."""
        own, depth = self.shape.sizes[operand], self.shape.sizes[2]
        writer = self.create_writer()
        start = f"{writer.bind_buffer(value)} + ulong(batch) * {own * depth}ul"
        types = f"{get_msl_type(value.type)}, {self.element}"
        if self.shape.is_contiguous_along_depth(operand):
            return OperandSource(
                "", f"metalbench::MatrixRows<{types}>", f"{start}, {own}u, {depth}u"
            )
        values = f"{start}, {depth}u, {own}u, {own}u"
        return OperandSource("", f"metalbench::MatrixColumns<{types}>", values)

    def build_epilogue(self, roots: Sequence[TensorValue]) -> str:
        """Return the struct that computes the first outputs from the sums, element by element."""
        rows, columns, _ = self.shape.sizes
        result, writer = self.product.results[0], self.create_writer()
        index = (
            *writer.unravel_index("batch", self.shape.batches),
            *writer.unravel_index("row", self.shape.rows),
            *writer.unravel_index("column", self.shape.columns),
        )
        writer.bind_value(
            result,
            index,
            writer.declare(get_msl_type(result.type), f"{get_msl_type(result.type)}(sum)"),
        )
        for number, root in enumerate(roots):
            element = writer.emit_root(root, index)
            writer.add_line(f"out{number}[{writer.linearize(index, root.type.shape)}] = {element};")
        return EPILOGUE.format(
            name=f"{self.name}_store",
            members="{members}",
            body=_format_body(writer),
            rows=rows,
            columns=columns,
        )

    def build(
        self, left: OperandSource, right: OperandSource, store: str, between: Sequence[str] = ()
    ) -> GeneratedKernel:
        """Return the kernel; `between` are statements before the product."""
        side = self.shape.side
        across, down, count = self.shape.tiles
        types = f"{left.type}, {right.type}, {side}, {side}"
        depth = f"metalbench::tile_depth<{self.element}>({TILE_DEPTH})"
        body = [
            f"using Tile = {MATRIX_CALL}<{types}, {depth}>;",
            "threadgroup float4 memory[Tile::kMemory];",
            f"const int batch = int(group / {across * down}u);",
            f"const uint2 tile = uint2(group % {across}u, group / {across}u % {down}u);",
            f"const uint2 corner = tile * {side}u;",
            *between,
            "Tile product(corner, memory, PLACE);",
            f"product.multiply({{{left.values}}}, {{{right.values}}}, {self.shape.sizes[2]}u);",
            f"product.store({self.name}_store{{{{values}}}});",
        ]
        values = [
            *self.buffers.values(),
            *(f"out{n}" for n in range(len(self.outputs))),
            *self.more,
            "batch",
        ]
        writer = self.create_writer()
        for line in body:
            writer.add_line(line.replace("{values}", ", ".join(values)))
        kernel = build_kernel(
            self.name,
            writer,
            self.outputs,
            MATRIX_THREADS * count,
            MATRIX_THREADS,
            place=MATRIX_PARAMETERS,
        )
        structs = (left.text + right.text + store).replace("{members}", self._format_members())
        # With a known bound on the threads, the compiler assigns more registers to each.
        head = f"[[kernel, max_total_threads_per_threadgroup({MATRIX_THREADS})]] void "
        return replace(kernel, text=structs + kernel.text.replace("kernel void ", head, 1))

    def _format_members(self) -> str:
        lines = [
            *(
                f"device const {get_msl_type(each.type)}* {name}"
                for each, name in self.buffers.items()
            ),
            *(f"device {get_msl_type(each.type)}* out{n}" for n, each in enumerate(self.outputs)),
            *(f"{type_} {name}" for name, type_ in self.more.items()),
            "int batch",
        ]
        return "\n".join(f"  {each};" for each in lines)


def build_matrix_kernel(
    name: str, roots: Sequence[TensorValue], product: Operation, inlined: set[TensorValue]
) -> GeneratedKernel:
    """Return the kernel that computes `roots` from a product."""
    builder = MatrixKernelBuilder(name, product, inlined, roots)
    left, right = builder.build_operand(0), builder.build_operand(1)
    return builder.build(left, right, builder.build_epilogue(roots))


def _format_body(writer: KernelWriter) -> str:
    return "\n".join(f"  {each}" for each in writer.lines)


# Generate the product of rows by tiles: a threadgroup first computes the scalars of its rows.
#
# The scalars are reductions of a row, and values computed from them for a whole row, such as a mean
# and a scale. With them, the product's source computes each element of the rows, so rows are never
# stored. Hand-written kernels do the same (kernels/include/metalbench/product_norms.h).


def build_row_product_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
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


def _find_row_scalars(operations: Sequence[Operation], rows: RowShape) -> list[TensorValue]:
    """Return the values with one scalar for each row that elements of the rows depend on."""
    found: dict[TensorValue, None] = {}
    for each in operations:
        if each.results[0].type.shape == rows.full:
            for value in each.operands:
                if value.operation in operations and value.type.shape in rows.scalars:
                    found[value] = None
    return list(found)


def _expand_row_index(index: Index, value: TensorValue, rows: RowShape) -> Index:
    """Return the index of a row's scalar, whose shape may include the axis of the row."""
    return index if value.type.shape == rows.outer else (*index, *("0" for _ in rows.inner))


@dataclass(frozen=True)
class _RowScalars:
    """Code that computes the scalars of a threadgroup's rows, one row for each SIMD-group."""

    builder: MatrixKernelBuilder
    rows: RowShape
    reductions: Sequence[Operation]
    numbers: Sequence[TensorValue]

    def format_statements(self, others: Sequence[TensorValue]) -> list[str]:
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

    def _emit_stores(
        self, writer: KernelWriter, others: Sequence[TensorValue], index: Index
    ) -> None:
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
