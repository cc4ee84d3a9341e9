"""Kernels of MSL: one that makes the elements of a value, or the stages of a whole operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metalbench.errors import Unsupported
from metalbench.hlo.emission import (
    convolution,
    elementwise,
    indexing,
    normalization,
    reductions,
    shapes,
    tiles,
    windows,
)
from metalbench.hlo.emission.writer import Emitter, KernelWriter
from metalbench.hlo.graph import Operation, Value

EMITTERS: dict[str, Emitter] = {
    **elementwise.ELEMENTWISE_EMITTERS,
    **shapes.STATIC_MOVEMENT_EMITTERS,
    **reductions.REDUCTION_EMITTERS,
    **windows.WINDOW_EMITTERS,
    **convolution.CONVOLUTION_EMITTERS,
    **indexing.DYNAMIC_MOVEMENT_EMITTERS,
    **normalization.NORMALIZATION_EMITTERS,
}
HEADER = '#include "rows.h"\nusing namespace metal;\n'
# Metal binds no more to a kernel.
MAX_BUFFERS = 31
THREADS = 64
# Expressions of an epilogue that are written for each element of a tile; more are in a loop.
MAX_UNROLLED = 12


@dataclass(frozen=True)
class GeneratedKernel:
    """One kernel: its text, how many threads, and which values lie in which parameter.

    `group` is how many threads a threadgroup has.
    """

    name: str
    text: str
    threads: int
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    group: int = THREADS


@dataclass(frozen=True)
class KernelStage:
    """A pass of an operation that is no map: `write` gets a thread's number and the outputs."""

    threads: int
    write: Callable[[KernelWriter, str, list[str]], None]


StageBuilder = Callable[[Operation], list[KernelStage]]


def build_map_kernel(
    name: str,
    roots: Sequence[Value],
    inlined: set[Value],
    *,
    tile: tiles.RegisterTile | None = None,
) -> GeneratedKernel:
    """Return a kernel with a thread for each element of `roots`: results of one operation.

    Where the roots are made of a matrix product, a thread has a `tile` of it, if one is given.
    Raises AssertionError if the roots differ in shape: one index would be wrong for some of them.
    """
    writer = KernelWriter(EMITTERS, inlined)
    spaces = {root.type.shape for root in roots}
    if tile is not None:
        spaces.add(tile.product.results[0].type.shape)
    if len(spaces) != 1:
        raise AssertionError(f"[{name}] expected one iteration space, got {sorted(spaces)}")
    for root in roots:
        if root.operation is None or root.operation.name not in EMITTERS:
            raise AssertionError(f"{root.type} is no map")
    if tile is not None:
        return _build_tiled_kernel(name, roots[0], writer, tile)
    index = writer.unravel_index("int(i)", roots[0].type.shape)
    found = [writer.emit_root(root, index) for root in roots]
    for number, element in enumerate(found):
        writer.add_line(f"out{number}[i] = {element};")
    return build_kernel(name, writer, roots, roots[0].type.size)


def _build_tiled_kernel(
    name: str, root: Value, writer: KernelWriter, tile: tiles.RegisterTile
) -> GeneratedKernel:
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
    """One stage of an operation that writes where it likes."""
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
    """The kernel whose body a writer has; raises Unsupported if it needs too many buffers.

    `place` are the parameters that tell a thread which it is; with others than `i` the body has to
    end the threads that are too many.
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
