"""Build a kernel of operations: maps of elements, and matrix tiles in registers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from metalbench.errors import Unsupported
from metalbench.hlo.codegen.data_movement import (
    DYNAMIC_MOVEMENT_EMITTERS,
    STATIC_MOVEMENT_EMITTERS,
    clamp_start,
)
from metalbench.hlo.codegen.elementwise import ELEMENTWISE_EMITTERS, NORMALIZATION_EMITTERS
from metalbench.hlo.codegen.packed_products import (
    PACKED_EMITTERS,
    emit_packed_tile,
)
from metalbench.hlo.codegen.reductions import (
    CONVOLUTION_EMITTERS,
    REDUCTION_EMITTERS,
    WINDOW_EMITTERS,
    ConvolutionShape,
    emit_convolutions,
    emit_products,
)
from metalbench.hlo.codegen.writer import (
    THREAD,
    Emitter,
    Index,
    KernelWriter,
    format_loop,
    get_msl_type,
)
from metalbench.hlo.ir import Operation, TensorValue
from metalbench.hlo.operations import is_elementwise

# Rows and columns of sums that a thread holds in registers.
MAX_ROWS, MAX_COLUMNS = 4, 16
# Largest ratio of computed elements to elements of the result.
MAX_WASTE = 1.2
PRODUCTS = ("convolution", "dot_general", "packed_product")
# Tiles of rows in a block: its rows stay in the second cache, and all panels of columns pass by.
ROW_BLOCK = 64


@dataclass(frozen=True)
class RegisterTile:
    """A product or convolution of which a thread computes `extents` elements along each axis.

    `epilogue` is the number of elementwise operations on each of them.
    """

    product: Operation
    extents: tuple[int, ...]
    epilogue: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of tiles along each axis."""
        shape = self.product.results[0].type.shape
        return tuple(-(-size // extent) for size, extent in zip(shape, self.extents, strict=True))

    def locate_tile(self, writer: KernelWriter, thread: str) -> Index:
        """Return the index of a thread's tile.

        Consecutive threads of a packed product read the same panel of columns.
        """
        if self.product.name != "packed_product":
            return writer.unravel_index(thread, self.shape)
        axis, shape = _find_row_axis(self.product), self.shape
        rows = _choose_row_block(shape[axis])
        *outer, row = writer.unravel_index(
            thread, (*shape[:axis], shape[axis] // rows, *shape[axis + 1 :], rows)
        )
        if outer[axis] != "0":
            row = writer.declare_index(f"{outer[axis]} * {rows} + {row}")
        outer[axis] = row
        return tuple(outer)

    def locate_elements(self, writer: KernelWriter, tile: Index) -> list[Index]:
        """Return the indices of all elements of a tile, clamped to the result."""
        places = []
        shape = self.product.results[0].type.shape
        for at, size, extent in zip(tile, shape, self.extents, strict=True):
            texts = [at] if extent == 1 else [f"{at} * {extent} + {i}" for i in range(extent)]
            if size % extent:
                texts = [f"min({each}, {size - 1})" for each in texts]
            places.append([writer.declare_index(each) for each in texts])
        return list(itertools.product(*places))

    def emit(self, writer: KernelWriter, indices: Sequence[Index]) -> None:
        """Emit the product's elements, and bind them in the writer."""
        names = self._emit_elements(writer, indices)
        for index, name in zip(indices, names, strict=True):
            writer.bind_value(self.product.results[0], index, name)

    def _emit_elements(self, writer: KernelWriter, indices: Sequence[Index]) -> list[str]:
        """Emit the product's elements at indices; return their names."""
        emit = emit_convolutions if self.product.name == "convolution" else emit_products
        return emit(writer, self.product, indices)

    @contextmanager
    def open_loop(self, writer: KernelWriter, tile: Index) -> Iterator[Index]:
        """Emit the product, and open a loop over its elements; yield the index of one."""
        result, columns = self.product.results[0], self.extents[-1]
        rows = math.prod(self.extents[:-1])
        if self.product.name == "packed_product":
            sums = emit_packed_tile(writer, self.product, tile, _find_row_axis(self.product))
        else:
            names = self._emit_elements(writer, self.locate_elements(writer, tile))
            sums = writer.make_name("sums")
            writer.add_line(
                f"{get_msl_type(result.type)} {sums}[{len(names)}] = {{{', '.join(names)}}};"
            )
        row, column = (writer.make_name(each) for each in ("row", "column"))
        with writer.open_block(format_loop(row, rows)):
            # The columns of a row are contiguous.
            writer.add_line("#pragma clang loop vectorize(assume_safety)")
            with writer.open_block(format_loop(column, columns)):
                inside = (*writer.unravel_index(row, self.extents[:-1]), column)
                index = tuple(self._locate_element(writer, tile, inside))
                element = writer.declare(
                    get_msl_type(result.type), f"{sums}[{row} * {columns} + {column}]"
                )
                writer.bind_value(result, index, element)
                yield index

    def _locate_element(self, writer: KernelWriter, tile: Index, inside: Index) -> Iterator[str]:
        """Yield the components of the index of one element, clamped to the result."""
        shape = self.product.results[0].type.shape
        for at, size, extent, one in zip(tile, shape, self.extents, inside, strict=True):
            text = at if extent == 1 else f"{at} * {extent} + {one}"
            yield writer.declare_index(f"min({text}, {size - 1})" if size % extent else text)


def find_register_tile(
    roots: Sequence[TensorValue], inlined: set[TensorValue]
) -> RegisterTile | None:
    """Return the tile for a kernel whose root is a product or convolution, or computed from one.

    All operations on the product must be elementwise. Return None if no two elements of the result
    share elements of an operand.
    """
    product, epilogue = find_product(roots[0], inlined) if len(roots) == 1 else (None, 0)
    if product is None:
        return None
    shape = product.results[0].type.shape
    extents = [1] * len(shape)
    if product.name == "packed_product":
        extents[_find_row_axis(product)], extents[-1] = product.attributes["tile"]
        return RegisterTile(product, tuple(extents), epilogue)
    for axis in _find_shared_axes(product):
        most = MAX_COLUMNS if axis == len(shape) - 1 else MAX_ROWS
        extents[axis] = _choose_extent(shape[axis], most)
    return RegisterTile(product, tuple(extents), epilogue) if max(extents, default=1) > 1 else None


def _choose_row_block(tiles: int) -> int:
    """Return a divisor of the number of row tiles: the tiles of a block."""
    divisors = (each for each in range(ROW_BLOCK, ROW_BLOCK // 8, -1) if tiles % each == 0)
    return next(divisors, tiles)


def _find_row_axis(product: Operation) -> int:
    """Return the last axis of a packed product's rows."""
    _, right = product.operands
    batches: int = product.attributes["batches"]
    columns = len(right.type.shape) - batches - 2
    return len(product.results[0].type.shape) - columns - 1


def _find_shared_axes(product: Operation) -> list[int]:
    """Return the axes of a result along which elements share elements of an operand."""
    shape = product.results[0].type.shape
    if product.name == "convolution":
        form = ConvolutionShape(product)
        if form.feature_groups * form.batch_groups > 1:
            return []
        return [form.output_feature, *form.output_spatial[-1:]]
    numbers = product.attributes["dot_dimension_numbers"]
    left, right = (each.type.shape for each in product.operands)
    batches, contracted = (
        len(numbers[f"lhs_{each}_dimensions"]) for each in ("batching", "contracting")
    )
    row = len(left) - contracted - 1
    if len(right) == batches + contracted:
        return []
    if row >= batches:
        return [row, len(shape) - 1]
    # A vector is read once for contiguous columns, of which a thread reads whole cache lines.
    axes = numbers["rhs_contracting_dimensions"]
    return [len(shape) - 1] if len(right) - 1 not in axes else []


def _choose_extent(size: int, most: int) -> int:
    """Return the number of elements along an axis that one thread computes."""
    while most > 1 and -(-size // most) * most > MAX_WASTE * size:
        most //= 2
    return most


def find_product(root: TensorValue, inlined: set[TensorValue]) -> tuple[Operation | None, int]:
    """Return the product that a root is computed from, and the number of operations on it."""
    waiting, seen = [root], {root}
    product, count = None, 0
    while waiting:
        value = waiting.pop()
        operation = value.operation
        if operation is None or value.type.shape != root.type.shape:
            continue
        if value is not root and value not in inlined:
            continue
        if operation.name in PRODUCTS:
            product = product or operation
        elif operation.name in ELEMENTWISE_EMITTERS:
            count += 1
            new = [each for each in operation.operands if each not in seen]
            waiting += new
            seen.update(new)
    return product, count


# Generate kernels: elementwise maps over results, and stages of operations on whole tensors.

EMITTERS: dict[str, Emitter] = {
    **ELEMENTWISE_EMITTERS,
    **STATIC_MOVEMENT_EMITTERS,
    **REDUCTION_EMITTERS,
    **WINDOW_EMITTERS,
    **CONVOLUTION_EMITTERS,
    **DYNAMIC_MOVEMENT_EMITTERS,
    **PACKED_EMITTERS,
    **NORMALIZATION_EMITTERS,
}
# Buffers that Metal can bind to a kernel.
MAX_BUFFERS = 31
THREADS = 64
# Largest epilogue that is unrolled over the elements of a tile; a longer one is a loop.
MAX_UNROLLED = 12


@dataclass(frozen=True)
class GeneratedKernel:
    """One kernel: name, MSL text, number of threads, and the values of its parameters.

    `group` is the number of threads of a threadgroup.
    """

    name: str
    text: str
    threads: int
    inputs: dict[str, TensorValue]
    outputs: dict[str, TensorValue]
    group: int = THREADS

    @property
    def nameless_text(self) -> str:
        """The text without the name, which kernels that compute the same share."""
        return self.text.replace(self.name, "")

    def rename(self, name: str) -> GeneratedKernel:
        """Return the same kernel with another name."""
        return replace(self, name=name, text=self.text.replace(self.name, name))


@dataclass(frozen=True)
class KernelStage:
    """One stage of an operation; `write` receives the thread's number and the output names."""

    threads: int
    write: Callable[[KernelWriter, str, list[str]], None]


StageBuilder = Callable[[Operation], list[KernelStage]]


def build_map_kernel(
    name: str,
    roots: Sequence[TensorValue],
    inlined: set[TensorValue],
    *,
    tile: RegisterTile | None = None,
    block: tuple[int, ...] = (),
) -> GeneratedKernel:
    """Return a kernel with one thread for each element of `roots`: results of one operation.

    If the roots are computed from a matrix product, a thread may compute a `tile` of it. A thread
    may also compute a `block` of elements. Raise AssertionError if the roots differ in shape: they
    would need more than one iteration space.
    """
    writer = KernelWriter(EMITTERS, inlined)
    spaces = {root.type.shape for root in roots}
    if tile is not None:
        spaces.add(tile.product.results[0].type.shape)
    if len(spaces) != 1:
        raise AssertionError(f"[{name}] expected one iteration space, got {sorted(spaces)}")
    for root in roots:
        if root.operation is None or root.operation.name not in EMITTERS:
            raise AssertionError(f"[{name}] expected an operation with an emitter, got {root}")
    if tile is not None:
        return _build_tiled_kernel(name, roots[0], writer, tile)
    if block:
        return _build_block_kernel(name, roots, writer, block)
    index = writer.unravel_index(THREAD, roots[0].type.shape)
    found = [writer.emit_root(root, index) for root in roots]
    for number, element in enumerate(found):
        writer.add_line(f"out{number}[i] = {element};")
    return build_kernel(name, writer, roots, roots[0].type.size)


# Extents of a block: along the last axis, and along the axis that is the last one of an operand.
RUNS, CROSSING = (32, 16, 8), (16, 8)
# Smaller results do not repay the loops.
MIN_BLOCKED = 1 << 16


def find_block(roots: Sequence[TensorValue], inlined: set[TensorValue]) -> tuple[int, ...]:
    """Return the extents of a block of elements that a thread of a CPU computes, or nothing.

    Elements of a block have common indices, and contiguous ones are loaded as vectors. That pays
    where elements are moved. A transpose gets a block of two axes: its elements are few cache lines
    of the operand. Kernels with loops or choices have no block.
    """
    shape = roots[0].type.shape
    if roots[0].type.size < MIN_BLOCKED:
        return ()
    moves, crossed = False, len(shape) - 1
    waiting, seen = list(roots), set(roots)
    while waiting:
        operation = waiting.pop().operation
        if operation is None or operation.name == "constant":
            continue
        if operation.name not in _STRAIGHT and not is_elementwise(operation):
            return ()
        result, operands = operation.results[0], operation.operands
        sizes = [each.type.size for each in operands if each.type.shape != result.type.shape]
        moves |= any(each > 1 for each in sizes)
        if operation.name == "transpose" and result.type.shape == shape:
            order, moves = operation.attributes["permutation"], True
            crossed = order.index(len(shape) - 1)
        new = [each for each in operands if each in inlined and each not in seen]
        seen.update(new)
        waiting += new
    runs = [each for each in RUNS if shape[-1] % each == 0]
    if not moves or not runs:
        return ()
    extents = [1] * len(shape)
    extents[-1] = runs[0]
    if crossed != len(shape) - 1:
        sides = [each for each in CROSSING if shape[crossed] % each == 0 and shape[-1] % each == 0]
        if not sides:
            return ()
        extents[crossed] = extents[-1] = sides[0]
    return tuple(extents)


# Movements of which every element has one source.
_STRAIGHT = frozenset(
    {*STATIC_MOVEMENT_EMITTERS, *DYNAMIC_MOVEMENT_EMITTERS} - {"concatenate", "pad"}
)


def _build_block_kernel(
    name: str, roots: Sequence[TensorValue], writer: KernelWriter, block: tuple[int, ...]
) -> GeneratedKernel:
    """Return a kernel with one thread for each block of elements."""
    shape = roots[0].type.shape
    blocks = [size // extent for size, extent in zip(shape, block, strict=True)]
    tile = writer.unravel_index(THREAD, blocks)
    index = list(tile)
    with ExitStack() as stack:
        for axis, extent in enumerate(block):
            if extent == 1:
                continue
            counter = writer.make_name("n")
            if axis == len(shape) - 1:
                writer.add_line("#pragma clang loop vectorize(assume_safety)")
            stack.enter_context(writer.open_block(format_loop(counter, extent)))
            at = tile[axis]
            index[axis] = counter if at == "0" else f"{at} * {extent} + {counter}"
            index[axis] = writer.declare_index(index[axis])
        found = [writer.emit_root(root, tuple(index)) for root in roots]
        place = writer.linearize(index, shape)
        for number, element in enumerate(found):
            writer.add_line(f"out{number}[{place}] = {element};")
    return build_kernel(name, writer, roots, math.prod(blocks))


def build_update_kernel(
    name: str, operation: Operation, inlined: set[TensorValue]
) -> GeneratedKernel:
    """Return a kernel that writes only the elements that a `dynamic_update_slice` replaces.

    Its output has the other elements already.
    """
    operand, update, *starts = operation.operands
    writer = KernelWriter(EMITTERS, inlined)
    index = writer.unravel_index(THREAD, update.type.shape)
    places = [
        writer.declare_index(f"{each} + {clamp_start(writer, start, (), whole - size)}")
        for each, start, whole, size in zip(
            index, starts, operand.type.shape, update.type.shape, strict=True
        )
    ]
    element = writer.emit_value(update, index)
    writer.add_line(f"out0[{writer.linearize(places, operand.type.shape)}] = {element};")
    return build_kernel(name, writer, operation.results, update.type.size)


def _build_tiled_kernel(
    name: str, root: TensorValue, writer: KernelWriter, tile: RegisterTile
) -> GeneratedKernel:
    """Return a kernel with one thread for each tile."""
    at = tile.locate_tile(writer, THREAD)
    if tile.epilogue > MAX_UNROLLED or tile.product.name == "packed_product":
        with tile.open_loop(writer, at) as index:
            element = writer.emit_root(root, index)
            writer.add_line(f"out0[{writer.linearize(index, root.type.shape)}] = {element};")
        return build_kernel(name, writer, [root], math.prod(tile.shape))
    indices = tile.locate_elements(writer, at)
    tile.emit(writer, indices)
    for index in indices:
        element = writer.emit_root(root, index)
        writer.add_line(f"out0[{writer.linearize(index, root.type.shape)}] = {element};")
    return build_kernel(name, writer, [root], math.prod(tile.shape))


def build_stage_kernel(
    name: str, stage: KernelStage, results: Sequence[TensorValue], inlined: set[TensorValue]
) -> GeneratedKernel:
    """Return the kernel of one stage."""
    writer = KernelWriter(EMITTERS, inlined)
    stage.write(writer, THREAD, [f"out{number}" for number in range(len(results))])
    return build_kernel(name, writer, results, stage.threads)


def build_kernel(
    name: str,
    writer: KernelWriter,
    roots: Sequence[TensorValue],
    threads: int,
    group: int = THREADS,
    *,
    place: Sequence[str] = ("uint i [[thread_position_in_grid]]",),
) -> GeneratedKernel:
    """Return the kernel with a writer's body. Raise Unsupported if it needs too many buffers.

    `place` are the parameters with the thread's position. If they are not the default, the body
    must end the superfluous threads.
    """
    outputs = {f"out{number}": each for number, each in enumerate(roots)}
    inputs = {text: value for value, text in writer.buffers.items()}
    if len(inputs) + len(outputs) > MAX_BUFFERS:
        operation = roots[0].operation
        where = operation.where if operation else name
        raise Unsupported(
            f"{where}: needs {len(inputs) + len(outputs)} buffers, a kernel has {MAX_BUFFERS}"
        )
    parameters = [
        *(f"device const {value.type.element.msl}* {text}" for text, value in inputs.items()),
        *(f"device {value.type.element.msl}* {text}" for text, value in outputs.items()),
    ]
    bound = [f"{each} [[buffer({number})]]" for number, each in enumerate(parameters)]
    head = ",\n    ".join([*bound, *place])
    # Full threadgroups need no guard, which would mask the accesses of vectors on `cpu`. Without
    # it, kernels for different numbers of threads have the same text.
    if len(place) == 1:
        group = min(group, threads) or group
    needs_guard = len(place) == 1 and threads % group != 0
    guard = [f"  if (i >= {threads}u) return;"] if needs_guard else []
    text = "\n".join([f"kernel void {name}(\n    {head}) {{", *guard, *writer.list_lines(), "}\n"])
    return GeneratedKernel(name, text, threads, inputs, outputs, group)
