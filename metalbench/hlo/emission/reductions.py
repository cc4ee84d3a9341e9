"""Emit reductions and products as loops of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from metalbench.hlo.emission.elementwise import cast_to_float, truncate_integer
from metalbench.hlo.emission.writer import Emitter, Index, KernelWriter, format_loop, get_msl_type
from metalbench.hlo.graph import Block, Operation, TensorType


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

    Floats are accumulated in float, integers in the result's type.
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
    """A sum of products, in a type wide enough that only the result is rounded."""

    def __init__(self, writer: KernelWriter, type_: TensorType) -> None:
        self._writer, self._element = writer, type_.element
        self._type = "float" if type_.element.is_float else type_.element.wrapping
        if type_.element.kind in "bc":
            self._type = type_.element.msl
        self._name = writer.declare_variable(self._type, f"{self._type}(0)")

    def add_product(self, names: Sequence[str], types: Sequence[TensorType]) -> None:
        """Emit the addition of a product of two elements."""
        if self._element.kind == "b":
            self._writer.add_line(f"{self._name} = {self._name} || ({names[0]} && {names[1]});")
            return
        if self._element.is_complex:
            self._writer.add_line(f"{self._name} += shlo::times({names[0]}, {names[1]});")
            return
        factors = [
            cast_to_float(name, each.element) if each.element.is_float else f"{self._type}({name})"
            for name, each in zip(names, types, strict=True)
        ]
        self._writer.add_line(f"{self._name} += {factors[0]} * {factors[1]};")

    def declare_result(self) -> str:
        """Return the name of the sum, converted to the result's type."""
        if self._element.is_complex:
            text = self._name
        elif self._element.is_float:
            text = (
                self._name if self._element.name == "f32" else f"{self._element.msl}({self._name})"
            )
        elif self._element.kind == "b":
            text = self._name
        else:
            text = truncate_integer(self._name, self._element)
        return self._writer.declare(self._element.msl, text)


REDUCTION_EMITTERS: dict[str, Emitter] = {"dot_general": emit_dot_general, "reduce": emit_reduce}
