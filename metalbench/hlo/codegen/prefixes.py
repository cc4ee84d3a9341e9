"""Generate kernels of prefix reductions: each thread reduces a chunk of a line in order.

`passes/prefix_reductions.py` makes these operations. The attributes are `axis`, `chunk` (elements
of a chunk) and `reverse`: the places of a line are counted from its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.codegen.kernel import KernelStage
from metalbench.hlo.codegen.reductions import emit_accumulation
from metalbench.hlo.codegen.writer import Index, KernelWriter, format_loop, get_msl_type
from metalbench.hlo.ir import Operation


class _Line:
    """The lines of a prefix reduction, with their chunks."""

    def __init__(self, operation: Operation, shape: tuple[int, ...]) -> None:
        attributes = operation.attributes
        self.shape = shape
        self.axis, self.chunk, self.reverse = (
            attributes[each] for each in ("axis", "chunk", "reverse")
        )
        self.size = shape[self.axis]
        self.chunks = -(-self.size // self.chunk)
        self.rest = [*shape[: self.axis], *shape[self.axis + 1 :]]

    def locate_element(self, writer: KernelWriter, rest: Sequence[str], place: str) -> Index:
        """Return the index of the element at a place of a line."""
        if self.reverse:
            place = writer.declare_index(f"{self.size - 1} - {place}")
        return (*rest[: self.axis], place, *rest[self.axis :])


def build_prefix_chunks(operation: Operation) -> list[KernelStage]:
    """Return the stage that reduces the prefixes of each chunk.

    Operands are tensors, then the same number of initial values. Results are the reduced prefixes,
    then the reduction of each chunk, with the chunks as the last axis.
    """
    half = len(operation.operands) // 2
    operands, initial = operation.operands[:half], operation.operands[half:]
    line = _Line(operation, operands[0].type.shape)

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *rest, part = writer.unravel_index(thread, [*line.rest, line.chunks])
        sums = [
            writer.declare_variable(get_msl_type(each.type), writer.emit_value(each, ()))
            for each in initial
        ]
        with writer.open_block(format_loop("k", line.chunk)):
            place = writer.declare_index("k" if part == "0" else f"{part} * {line.chunk} + k")
            if line.size % line.chunk:
                writer.add_line(f"if ({place} >= {line.size}) break;")
            index = line.locate_element(writer, rest, place)
            elements = [writer.emit_value(each, index) for each in operands]
            emit_accumulation(writer, operation.regions[0], sums, elements)
            at = writer.linearize(index, line.shape)
            for output, name in zip(outputs[:half], sums, strict=True):
                writer.add_line(f"{output}[{at}] = {name};")
        for output, name in zip(outputs[half:], sums, strict=True):
            at = writer.linearize([*rest, part], [*line.rest, line.chunks])
            writer.add_line(f"{output}[{at}] = {name};")

    return [KernelStage(operands[0].type.size // line.size * line.chunks, write)]


def build_prefix_join(operation: Operation) -> list[KernelStage]:
    """Return the stage that combines each element with the reduction of the chunks before it.

    Operands are the reduced prefixes of chunks, then the reduced prefixes of the chunks' totals.
    """
    half = len(operation.operands) // 2
    local, totals = operation.operands[:half], operation.operands[half:]
    line = _Line(operation, local[0].type.shape)

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = writer.unravel_index(thread, line.shape)
        rest = [*index[: line.axis], *index[line.axis + 1 :]]
        place = index[line.axis]
        if line.reverse:
            place = writer.declare_index(f"{line.size - 1} - {place}")
        part = writer.declare_index(f"{place} / {line.chunk}")
        elements = [
            writer.declare_variable(get_msl_type(each.type), writer.emit_value(each, index))
            for each in local
        ]
        with writer.open_block(f"if ({part} > 0)"):
            before = writer.declare_index(f"{part} - 1")
            sums = [
                writer.declare_variable(
                    get_msl_type(each.type), writer.emit_value(each, [*rest, before])
                )
                for each in totals
            ]
            emit_accumulation(writer, operation.regions[0], sums, elements)
            for element, name in zip(elements, sums, strict=True):
                writer.add_line(f"{element} = {name};")
        for output, name in zip(outputs, elements, strict=True):
            writer.add_line(f"{output}[{thread}] = {name};")

    return [KernelStage(local[0].type.size, write)]
