"""Emit reductions and products as loops of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from metalbench.hlo.codegen.data_movement import format_affine
from metalbench.hlo.codegen.elementwise import format_conversion, round_float, truncate_integer
from metalbench.hlo.codegen.writer import (
    Emitter,
    Index,
    KernelWriter,
    format_literal,
    format_loop,
    get_msl_type,
)
from metalbench.hlo.ir import Block, ElementType, Operation, TensorType


def emit_accumulation(
    writer: KernelWriter, region: Block, accumulators: Sequence[str], elements: Sequence[str]
) -> None:
    """Emit a region on accumulators and elements, and store its results in the accumulators."""
    found = writer.emit_region(region, [*accumulators, *elements])
    if len(found) > 1:
        # Read all accumulators before the first is written.
        found = [
            writer.declare(get_msl_type(each.type), name)
            for each, name in zip(region.returned, found, strict=True)
        ]
    for accumulator, name in zip(accumulators, found, strict=True):
        writer.add_line(f"{accumulator} = {name};")


def open_loops(writer: KernelWriter, stack: ExitStack, sizes: Sequence[int]) -> list[str]:
    """Open a loop for each axis; return the names of the counters."""
    counters = []
    for size in sizes:
        counter = "0" if size == 1 else writer.make_name("k")
        if size != 1:
            stack.enter_context(writer.open_block(format_loop(counter, size)))
        counters.append(counter)
    return counters


def emit_reduce(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a reduction. Operands are tensors, then the same number of initial values."""
    half = len(operation.operands) // 2
    operands, initial = operation.operands[:half], operation.operands[half:]
    axes, shape = operation.attributes["dimensions"], operands[0].type.shape
    accumulators = [
        writer.declare_variable(get_msl_type(each.type), writer.emit_value(value, ()))
        for each, value in zip(operation.results, initial, strict=True)
    ]
    with ExitStack() as stack:
        counters = dict(
            zip(axes, open_loops(writer, stack, [shape[each] for each in axes]), strict=True)
        )
        kept = iter(index)
        place = [counters[axis] if axis in counters else next(kept) for axis in range(len(shape))]
        elements = [writer.emit_value(each, place) for each in operands]
        emit_accumulation(writer, operation.regions[0], accumulators, elements)
    return accumulators


def emit_dot_general(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a product over contracted axes.

    Floats are accumulated in float or double, integers in the result's type.
    """
    return emit_products(writer, operation, [index])


def emit_products(
    writer: KernelWriter, operation: Operation, indices: Sequence[Index]
) -> list[str]:
    """Emit a product's elements at several indices; common operand elements are loaded once."""
    left, right = operation.operands
    numbers = operation.attributes["dot_dimension_numbers"]
    batches = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
    contracted = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
    sums = [ProductSum(writer, operation.results[0].type) for _ in indices]
    with ExitStack() as stack:
        counters = open_loops(writer, stack, [left.type.shape[axis] for axis in contracted[0]])
        for total, index in zip(sums, indices, strict=True):
            free = iter(index[len(batches[0]) :])
            names = []
            for value, batch, axes in zip((left, right), batches, contracted, strict=True):
                place = {
                    **dict(zip(batch, index, strict=False)),
                    **dict(zip(axes, counters, strict=True)),
                }
                rank = len(value.type.shape)
                full = [place[axis] if axis in place else next(free) for axis in range(rank)]
                names.append(writer.emit_value(value, full))
            total.add_product(names, (left.type, right.type))
    return [each.declare_result() for each in sums]


class ProductSum:
    """A sum of products, in a type wide enough that only the result is rounded.

    With a `count` it is an array of sums.
    """

    def __init__(self, writer: KernelWriter, type_: TensorType, count: int = 0) -> None:
        self._writer, self._element, self._count = writer, type_.element, count
        self._type = type_.element.wrapping
        if not type_.element.is_integer:
            self._type = (type_.element.arithmetic if type_.element.is_float else type_.element).msl
        if count:
            self._name = writer.make_name("sums")
            writer.add_line(f"{self._type} {self._name}[{count}] = {{}};")
        else:
            self._name = writer.declare_variable(self._type, f"{self._type}(0)")

    def join_lanes(self) -> None:
        """Emit the addition of the sums of a SIMD-group's lanes."""
        self._writer.add_line(f"{self._name} = simd_sum({self._name});")

    def add_product(
        self, names: Sequence[str], types: Sequence[TensorType], place: str = ""
    ) -> None:
        """Emit the addition of a product of two elements, to a `place` of an array."""
        name = f"{self._name}{place}"
        if self._element.kind == "b":
            self._writer.add_line(f"{name} = {name} || ({names[0]} && {names[1]});")
            return
        factors = [
            self._convert_factor(factor, each.element)
            for factor, each in zip(names, types, strict=True)
        ]
        if self._element.is_complex:
            self._writer.add_line(f"{name} += shlo::times({factors[0]}, {factors[1]});")
            return
        self._writer.add_line(f"{name} += {factors[0]} * {factors[1]};")

    def _convert_factor(self, name: str, element: ElementType) -> str:
        """Return a factor in the type of the sum: a product must not be rounded before."""
        if self._element.is_integer:
            return f"{self._type}({name})"
        wide = self._element if self._element.is_complex else self._element.arithmetic
        return format_conversion(name, element, wide)

    def declare_result(self) -> str:
        """Return the name of the sum, converted to the result's type."""
        return self._writer.declare(self._element.msl, self._convert(self._name))

    def declare_results(self) -> str:
        """Return the name of an array of the sums, converted to the result's type."""
        results = self._writer.make_name("results")
        self._writer.add_line(f"{self._element.msl} {results}[{self._count}];")
        self._writer.add_line("#pragma clang loop unroll(full)")
        with self._writer.open_block(format_loop("n", self._count)):
            self._writer.add_line(f"{results}[n] = {self._convert(f'{self._name}[n]')};")
        return results

    def _convert(self, name: str) -> str:
        if self._element.is_float:
            return round_float(name, self._element)
        if self._element.is_integer:
            return truncate_integer(name, self._element)
        return name


REDUCTION_EMITTERS: dict[str, Emitter] = {"dot_general": emit_dot_general, "reduce": emit_reduce}


# Emit operations over sliding windows: reduce_window and select_and_scatter.


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


# Emit convolutions with groups, strides, dilations of both operands, and reversal.


def emit_convolution(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit sums of products over windows and input features, grouped by features or batch."""
    return emit_convolutions(writer, operation, [index])


def emit_convolutions(
    writer: KernelWriter, operation: Operation, indices: Sequence[Index]
) -> list[str]:
    """Emit a convolution's elements at several indices; common elements are loaded once."""
    image, kernel = operation.operands
    form = ConvolutionShape(operation)
    sums = [ProductSum(writer, operation.results[0].type) for _ in indices]
    # Elements of the image by their place in the result; padding is zero.
    loaded: dict[tuple[str, ...], str] = {}
    with ExitStack() as stack:
        offsets = open_loops(writer, stack, form.window)
        (channel,) = open_loops(writer, stack, [form.channels])
        for total, index in zip(sums, indices, strict=True):
            feature = index[form.output_feature]
            group = "0"
            if form.feature_groups * form.batch_groups > 1:
                group = writer.declare_index(f"{feature} / {form.features_of_a_group}")
            place = tuple(index[axis] for axis in form.output_spatial)
            key = (index[form.output_batch], *place, group)
            if key not in loaded:
                at = form.locate_batch(writer, index[form.output_batch], channel, group)
                places, inside = form.locate_element(writer, place, offsets)
                at.update(zip(form.spatial, places, strict=True))
                name = loaded[key] = writer.declare_variable(
                    get_msl_type(image.type), format_literal(0, image.type.element)
                )
                with writer.open_block(f"if ({inside})"):
                    element = writer.emit_value(image, [at[axis] for axis in range(len(at))])
                    writer.add_line(f"{name} = {element};")
            of = {form.kernel_input: channel, form.kernel_output: feature}
            for number, offset in enumerate(offsets):
                size = form.window[number]
                backwards = form.reversal[number] and size > 1
                of[form.kernel_spatial[number]] = (
                    writer.declare_index(f"{size - 1} - {offset}") if backwards else offset
                )
            weight = writer.emit_value(kernel, [of[axis] for axis in range(len(of))])
            total.add_product([loaded[key], weight], (image.type, kernel.type))
    return [each.declare_result() for each in sums]


class ConvolutionShape:
    """The axes, sizes, strides, dilations and padding of a convolution."""

    def __init__(self, operation: Operation) -> None:
        attributes = operation.attributes
        numbers = attributes["dimension_numbers"]
        image, kernel = (each.type.shape for each in operation.operands)
        self.batch, self.feature = (
            numbers["input_batch_dimension"],
            numbers["input_feature_dimension"],
        )
        self.spatial = numbers["input_spatial_dimensions"]
        self.kernel_input = numbers["kernel_input_feature_dimension"]
        self.kernel_output = numbers["kernel_output_feature_dimension"]
        self.kernel_spatial = numbers["kernel_spatial_dimensions"]
        self.output_batch = numbers["output_batch_dimension"]
        self.output_feature = numbers["output_feature_dimension"]
        self.output_spatial = numbers["output_spatial_dimensions"]
        self.feature_groups = attributes["feature_group_count"]
        self.batch_groups = attributes["batch_group_count"]
        self.channels = kernel[self.kernel_input]
        self.features_of_a_group = kernel[self.kernel_output] // (
            self.feature_groups * self.batch_groups
        )
        self.batches = image[self.batch] // self.batch_groups
        ones = (1,) * len(self.spatial)
        self.window = tuple(kernel[axis] for axis in self.kernel_spatial)
        self.reversal = attributes.get("window_reversal", (False,) * len(ones))
        self._strides = attributes.get("window_strides", ones)
        self._dilations = attributes.get("rhs_dilation", ones)
        self._spread = attributes.get("lhs_dilation", ones)
        padding = attributes.get("padding")
        self._lows = [0] * len(ones) if padding is None else [int(each[0]) for each in padding]
        self._sizes = [image[axis] for axis in self.spatial]

    def locate_batch(
        self, writer: KernelWriter, batch: str, channel: str, group: str
    ) -> dict[int, str]:
        """Return the image's index along its axes of batches and features."""
        if self.feature_groups > 1:
            channel = writer.declare_index(f"{group} * {self.channels} + {channel}")
        if self.batch_groups > 1:
            batch = writer.declare_index(f"{group} * {self.batches} + {batch}")
        return {self.batch: batch, self.feature: channel}

    def locate_element(
        self, writer: KernelWriter, output: Sequence[str], offsets: Sequence[str]
    ) -> tuple[list[str], str]:
        """Return a spatial index into the image, and the condition that it is in bounds."""
        places, inside = [], ["true"]
        for axis, size in enumerate(self._sizes):
            steps = format_affine(output[axis], self._strides[axis], -self._lows[axis])
            place = writer.declare_index(
                f"{steps} + {format_affine(offsets[axis], self._dilations[axis], 0)}"
            )
            inside.append(f"{place} >= 0")
            if self._spread[axis] > 1:
                inside.append(f"{place} % {self._spread[axis]} == 0")
                place = writer.declare_index(f"{place} / {self._spread[axis]}")
            inside.append(f"{place} < {size}")
            places.append(place)
        return places, " && ".join(inside)


CONVOLUTION_EMITTERS: dict[str, Emitter] = {"convolution": emit_convolution}
