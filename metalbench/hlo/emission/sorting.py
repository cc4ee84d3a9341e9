"""Generate sorts: insertion sort with one thread for each run, merges with one for each element."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.emission.kernel import KernelStage
from metalbench.hlo.emission.writer import KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation


def build_sort(operation: Operation) -> list[KernelStage]:
    """Return the stage of a stable sort, by insertion or by merging.

    With the attribute `run` only runs of that length are sorted. With `merged`, runs of that length
    are sorted already, and pairs of them are merged.
    """
    if "merged" in operation.attributes:
        return [_build_merge(operation, operation.attributes["merged"])]
    return [_build_insertion_sort(operation)]


class _SortAxis:
    """The axis of a sort; a line is the elements along it."""

    def __init__(self, operation: Operation) -> None:
        self.shape = operation.operands[0].type.shape
        rank = len(self.shape)
        self.axis = operation.attributes.get("dimension", -1) % max(rank, 1)
        self.size = self.shape[self.axis] if rank else 1
        self.rest = [*self.shape[: self.axis], *self.shape[self.axis + 1 :]]

    def locate_element(self, rest: Sequence[str], number: str) -> list[str]:
        """Return the index of an element of a line."""
        return [*rest[: self.axis], number, *rest[self.axis :]] if self.shape else []


def _build_insertion_sort(operation: Operation) -> KernelStage:
    """Return the stage of a binary insertion sort of each run."""
    line = _SortAxis(operation)
    run = operation.attributes.get("run", line.size)
    lines, runs = operation.operands[0].type.size // max(line.size, 1), -(-line.size // max(run, 1))

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *rest, part = writer.unravel_index(thread, [*line.rest, runs])
        first, end = ("0", str(line.size)) if runs == 1 else (f"{part} * {run}", "")
        begin = writer.declare_index(first)
        stop = end or writer.declare_index(f"min({begin} + {run}, {line.size})")
        with writer.open_block(f"for (int k = {begin}; k < {stop}; ++k)"):
            new = [
                writer.emit_value(each, line.locate_element(rest, "k"))
                for each in operation.operands
            ]
            # Binary search: the position after the last element that does not follow the new one.
            writer.add_line(f"int low = {begin}, high = k;")
            with writer.open_block("while (low < high)"):
                middle = writer.declare("int", "(low + high) / 2")
                at = writer.linearize(line.locate_element(rest, middle), line.shape)
                pairs = []
                for name, output, each in zip(new, outputs, operation.operands, strict=True):
                    pairs += [name, writer.declare(get_msl_type(each.type), f"{output}[{at}]")]
                (before,) = writer.emit_region(operation.regions[0], pairs)
                writer.add_line(f"if ({before}) high = {middle}; else low = {middle} + 1;")
            with writer.open_block("for (int m = k; m > low; --m)"):
                to, source = (
                    writer.linearize(line.locate_element(rest, each), line.shape)
                    for each in ("m", "(m - 1)")
                )
                for output in outputs:
                    writer.add_line(f"{output}[{to}] = {output}[{source}];")
            at = writer.linearize(line.locate_element(rest, "low"), line.shape)
            for name, output in zip(new, outputs, strict=True):
                writer.add_line(f"{output}[{at}] = {name};")

    return KernelStage(lines * runs, write)


def _build_merge(operation: Operation, run: int) -> KernelStage:
    """Return the stage that merges pairs of runs.

    The new position of an element is the number of elements of both runs that precede it. Equal
    elements of the left run precede those of the right run, so the sort is stable.
    """
    line, operands = _SortAxis(operation), operation.operands

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = writer.unravel_index(thread, line.shape)
        rest, own = [*index[: line.axis], *index[line.axis + 1 :]], index[line.axis]
        start = writer.declare_index(f"{own} / {2 * run} * {2 * run}")
        left = writer.declare("bool", f"{own} < {start} + {run}")
        new = [writer.emit_value(each, index) for each in operands]
        bounds = [f"min({start} + {count}, {line.size})" for count in (run, 2 * run)]
        writer.add_line(f"int low = {left} ? {bounds[0]} : {start};")
        writer.add_line(f"int high = {left} ? {bounds[1]} : {start} + {run};")
        other = writer.declare("int", "low")
        with writer.open_block("while (low < high)"):
            middle = writer.declare("int", "(low + high) / 2")
            pairs = []
            for mine, each in zip(new, operands, strict=True):
                theirs = writer.emit_value(each, line.locate_element(rest, middle))
                pairs += [
                    writer.declare(get_msl_type(each.type), f"{left} ? {theirs} : {mine}"),
                    writer.declare(get_msl_type(each.type), f"{left} ? {mine} : {theirs}"),
                ]
            (before,) = writer.emit_region(operation.regions[0], pairs)
            writer.add_line(f"if ({before} == {left}) low = {middle} + 1; else high = {middle};")
        within = f"{own} - ({left} ? {start} : {start} + {run})"
        to = writer.declare_index(f"{start} + {within} + low - {other}")
        at = writer.linearize(line.locate_element(rest, to), line.shape)
        for name, output in zip(new, outputs, strict=True):
            writer.add_line(f"{output}[{at}] = {name};")

    return KernelStage(operands[0].type.size, write)
