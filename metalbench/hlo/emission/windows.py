"""Emit operations over sliding windows: reduce_window and select_and_scatter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from metalbench.hlo.emission.literal import format_literal
from metalbench.hlo.emission.reductions import emit_accumulation, open_loops
from metalbench.hlo.emission.shapes import format_affine
from metalbench.hlo.emission.writer import Emitter, Index, KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation


def emit_reduce_window(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a reduction of each window. Padding has the initial value."""
    half = len(operation.operands) // 2
    operands, initial = operation.operands[:half], operation.operands[half:]
    window = SlidingWindow(operation, operands[0].type.shape)
    starts = [writer.emit_value(each, ()) for each in initial]
    accumulators = [
        writer.declare_variable(get_msl_type(each.type), value)
        for each, value in zip(operation.results, starts, strict=True)
    ]
    with ExitStack() as stack:
        offsets = open_loops(writer, stack, window.sizes)
        places, inside = window.locate_element(writer, index, offsets)
        elements = [
            writer.declare_variable(get_msl_type(each.type), value)
            for each, value in zip(operands, starts, strict=True)
        ]
        with writer.open_block(f"if ({inside})"):
            for name, each in zip(elements, operands, strict=True):
                writer.add_line(f"{name} = {writer.emit_value(each, places)};")
        emit_accumulation(writer, operation.regions[0], accumulators, elements)
    return accumulators


class SlidingWindow:
    """The sizes, strides, dilations and padding of windows over an operand."""

    def __init__(self, operation: Operation, shape: tuple[int, ...]) -> None:
        ones, attributes = (1,) * len(shape), operation.attributes
        self.shape = shape
        self.sizes: tuple[int, ...] = tuple(attributes.get("window_dimensions", ones))
        self.strides = attributes.get("window_strides", ones)
        self.dilations = attributes.get("window_dilations", ones)
        self.spread = attributes.get("base_dilations", ones)
        padding = attributes.get("padding")
        self.lows = [0] * len(shape) if padding is None else [int(each[0]) for each in padding]

    def locate_element(
        self, writer: KernelWriter, window: Sequence[str], offsets: Sequence[str]
    ) -> tuple[list[str], str]:
        """Return the index of a window's element, and the condition that it is in bounds."""
        places, inside = [], ["true"]
        for axis, size in enumerate(self.shape):
            steps = format_affine(window[axis], self.strides[axis], -self.lows[axis])
            place = writer.declare_index(
                f"{steps} + {format_affine(offsets[axis], self.dilations[axis], 0)}"
            )
            spread = self.spread[axis]
            inside.append(f"{place} >= 0")
            if spread > 1:
                inside.append(f"{place} % {spread} == 0")
                place = writer.declare_index(f"{place} / {spread}")
            inside.append(f"{place} < {size}")
            places.append(place)
        return places, " && ".join(inside)


def emit_select_and_scatter(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit the scattered sum for an operand element, over the windows that select it, in order."""
    operand, source, initial = operation.operands
    window = SlidingWindow(operation, operand.type.shape)
    scatter = operation.regions[1]
    total = writer.declare_variable(
        get_msl_type(operation.results[0].type), writer.emit_value(initial, ())
    )
    with ExitStack() as stack:
        windows = [
            _open_window_loop(writer, stack, (window, axis, count), index[axis])
            for axis, count in enumerate(source.type.shape)
        ]
        near = ["true"]
        for axis, size in enumerate(window.sizes):
            start = format_affine(windows[axis], window.strides[axis], -window.lows[axis])
            first = writer.declare_index(start)
            near.append(f"{index[axis]} >= {first} && {index[axis]} < {first} + {size}")
        stack.enter_context(writer.open_block(f"if ({' && '.join(near)})"))
        best = writer.declare_variable(
            get_msl_type(operand.type), format_literal(0, operand.type.element)
        )
        chosen = writer.declare_variable("int", "-1")
        _emit_selection(writer, operation, window, windows, (best, chosen))
        own = writer.linearize(index, operand.type.shape)
        with writer.open_block(f"if ({chosen} == {own})"):
            emit_accumulation(writer, scatter, [total], [writer.emit_value(source, windows)])
    return [total]


def _open_window_loop(
    writer: KernelWriter, stack: ExitStack, windows: tuple[SlidingWindow, int, int], place: str
) -> str:
    """Open a loop over the windows that may contain a place on an axis; return its counter."""
    window, axis, count = windows
    if count == 1:
        return "0"
    counter, stride = writer.make_name("k"), window.strides[axis]
    end = writer.declare_index(format_affine(place, 1, window.lows[axis]))
    first = f"max(0, ({end} - {window.sizes[axis] - 1}) / {stride})"
    last = f"min({count - 1}, {end} / {stride})"
    head = f"for (int {counter} = {first}; {counter} <= {last}; ++{counter})"
    stack.enter_context(writer.open_block(head))
    return counter


def _emit_selection(
    writer: KernelWriter,
    operation: Operation,
    window: SlidingWindow,
    windows: Sequence[str],
    best: tuple[str, str],
) -> None:
    """Emit the selection of one element of a window, as the region decides."""
    operand, select = operation.operands[0], operation.regions[0]
    name, chosen = best
    with ExitStack() as stack:
        offsets = open_loops(writer, stack, window.sizes)
        places, inside = window.locate_element(writer, windows, offsets)
        stack.enter_context(writer.open_block(f"if ({inside})"))
        element = writer.emit_value(operand, places)
        keep = writer.declare_variable("bool", f"{chosen} >= 0")
        with writer.open_block(f"if ({keep})"):
            writer.add_line(f"{keep} = {writer.emit_region(select, [name, element])[0]};")
        with writer.open_block(f"if (!{keep})"):
            writer.add_line(f"{name} = {element};")
            writer.add_line(f"{chosen} = {writer.linearize(places, operand.type.shape)};")


WINDOW_EMITTERS: dict[str, Emitter] = {
    "reduce_window": emit_reduce_window,
    "select_and_scatter": emit_select_and_scatter,
}
