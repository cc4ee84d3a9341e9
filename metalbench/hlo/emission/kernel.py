"""Generate kernels: elementwise maps over results, and stages of operations on whole tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metalbench.errors import Unsupported
from metalbench.hlo.emission.convolution import CONVOLUTION_EMITTERS
from metalbench.hlo.emission.elementwise import ELEMENTWISE_EMITTERS
from metalbench.hlo.emission.indexing import DYNAMIC_MOVEMENT_EMITTERS
from metalbench.hlo.emission.normalization import NORMALIZATION_EMITTERS
from metalbench.hlo.emission.reductions import REDUCTION_EMITTERS
from metalbench.hlo.emission.shapes import STATIC_MOVEMENT_EMITTERS
from metalbench.hlo.emission.tiles import RegisterTile
from metalbench.hlo.emission.windows import WINDOW_EMITTERS
from metalbench.hlo.emission.writer import Emitter, KernelWriter
from metalbench.hlo.graph import Operation, Value

EMITTERS: dict[str, Emitter] = {
    **ELEMENTWISE_EMITTERS,
    **STATIC_MOVEMENT_EMITTERS,
    **REDUCTION_EMITTERS,
    **WINDOW_EMITTERS,
    **CONVOLUTION_EMITTERS,
    **DYNAMIC_MOVEMENT_EMITTERS,
    **NORMALIZATION_EMITTERS,
}
HEADER = '#include "rows.h"\nusing namespace metal;\n'
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
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    group: int = THREADS


@dataclass(frozen=True)
class KernelStage:
    """One stage of an operation; `write` receives the thread's number and the output names."""

    threads: int
    write: Callable[[KernelWriter, str, list[str]], None]


StageBuilder = Callable[[Operation], list[KernelStage]]


def build_map_kernel(
    name: str,
    roots: Sequence[Value],
    inlined: set[Value],
    *,
    tile: RegisterTile | None = None,
) -> GeneratedKernel:
    """Return a kernel with one thread for each element of `roots`: results of one operation.

    If the roots are computed from a matrix product, a thread may compute a `tile` of it. Raise
    AssertionError if the roots differ in shape: they would need more than one iteration space.
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
    index = writer.unravel_index("int(i)", roots[0].type.shape)
    found = [writer.emit_root(root, index) for root in roots]
    for number, element in enumerate(found):
        writer.add_line(f"out{number}[i] = {element};")
    return build_kernel(name, writer, roots, roots[0].type.size)


def _build_tiled_kernel(
    name: str, root: Value, writer: KernelWriter, tile: RegisterTile
) -> GeneratedKernel:
    """Return a kernel with one thread for each tile."""
    at = writer.unravel_index("int(i)", tile.shape)
    if tile.epilogue > MAX_UNROLLED:
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
    name: str, stage: KernelStage, results: Sequence[Value], inlined: set[Value]
) -> GeneratedKernel:
    """Return the kernel of one stage."""
    writer = KernelWriter(EMITTERS, inlined)
    stage.write(writer, "int(i)", [f"out{number}" for number in range(len(results))])
    return build_kernel(name, writer, results, stage.threads)


def build_kernel(
    name: str,
    writer: KernelWriter,
    roots: Sequence[Value],
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
    guard = [f"  if (i >= {threads}u) return;"] if len(place) == 1 else []
    text = "\n".join([f"kernel void {name}(\n    {head}) {{", *guard, *writer.lines, "}\n"])
    return GeneratedKernel(name, text, threads, inputs, outputs, group)
