"""Emit convolutions with groups, strides, dilations of both operands, and reversal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from metalbench.hlo.emission.reductions import ProductSum, open_loops
from metalbench.hlo.emission.shapes import format_affine
from metalbench.hlo.emission.writer import Emitter, Index, KernelWriter
from metalbench.hlo.graph import Operation


def emit_convolution(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit sums of products over windows and input features, grouped by features or batch."""
    image, kernel = operation.operands
    form = ConvolutionShape(operation)
    batch, feature = index[form.output_batch], index[form.output_feature]
    total = ProductSum(writer, operation.results[0].type)
    with ExitStack() as stack:
        offsets = open_loops(writer, stack, form.window)
        (channel,) = open_loops(writer, stack, [form.channels])
        places, inside = form.locate_element(
            writer, [index[axis] for axis in form.output_spatial], offsets
        )
        stack.enter_context(writer.open_block(f"if ({inside})"))
        at, of = [""] * len(image.type.shape), [""] * len(kernel.type.shape)
        group = writer.declare_index(f"{feature} / {form.features_of_a_group}")
        at[form.batch], at[form.feature] = batch, channel
        if form.feature_groups > 1:
            at[form.feature] = writer.declare_index(f"{group} * {form.channels} + {channel}")
        if form.batch_groups > 1:
            at[form.batch] = writer.declare_index(f"{group} * {form.batches} + {batch}")
        of[form.kernel_input], of[form.kernel_output] = channel, feature
        for number, (place, offset) in enumerate(zip(places, offsets, strict=True)):
            at[form.spatial[number]] = place
            size = form.window[number]
            backwards = form.reversal[number] and size > 1
            of[form.kernel_spatial[number]] = (
                writer.declare_index(f"{size - 1} - {offset}") if backwards else offset
            )
        names = [writer.emit_value(image, at), writer.emit_value(kernel, of)]
        total.add_product(names, (image.type, kernel.type))
    return [total.declare_result()]


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
