"""Sorting: runs by insertion, a thread a run, and merging of runs, a thread an element."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.emission.kernel import KernelStage
from metalbench.hlo.emission.writer import KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation


def build_sort(operation: Operation) -> list[KernelStage]:
    """Stable, whatever the comparator says: a line by insertion, or what a pass made of it.

    The attribute `run` says that only runs of that length are to be sorted, `merged` that runs of
    that length are, and pairs of them to be merged.
    """
    if "merged" in operation.attributes:
        return [_build_merge(operation, operation.attributes["merged"])]
    return [_build_insertion_sort(operation)]


class _SortAxis:
    """The axis of a sort, and places in one of its lines."""

    def __init__(self, operation: Operation) -> None:
        self.shape = operation.operands[0].type.shape
        rank = len(self.shape)
        self.axis = operation.attributes.get("dimension", -1) % max(rank, 1)
        self.size = self.shape[self.axis] if rank else 1
        self.rest = [*self.shape[: self.axis], *self.shape[self.axis + 1 :]]

    def locate_element(self, rest: Sequence[str], number: str) -> list[str]:
        """The index of an element of a line."""
        return [*rest[: self.axis], number, *rest[self.axis :]] if self.shape else []


def _build_insertion_sort(operation: Operation) -> KernelStage:
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
            # After the last that is not behind it: found by halving what is in order already.
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
    """Each element goes as far behind its run's start as elements of both runs are before it.

    Those of the left run that equal one of the right are before it, which keeps the order.
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
