"""Emit data movement at indices that are values of the program: gather and dynamic slices."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.emission.writer import Emitter, Index, KernelWriter
from metalbench.hlo.graph import Operation, Value


def clamp_start(writer: KernelWriter, start: Value, index: Sequence[str], most: int) -> str:
    """Return a start index clamped to [0, most].

    It is compared in its own type, which may have 64 bits.
    """
    if most == 0:
        return "0"
    name, kind = writer.emit_value(start, index), start.type.element.msl
    low = f"{name} < {kind}(0) ? 0 : " if start.type.element.kind == "i" else ""
    # The bound may exceed the largest value of a narrow type.
    bound = f"{name} > {kind}({most}) ? {most} : int({name})"
    bits = start.type.element.bits - (start.type.element.kind == "i")
    return writer.declare_index(f"{low}{bound if most < 2**bits else f'int({name})'}")


def emit_dynamic_slice(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a slice with clamped start indices."""
    operand, *starts = operation.operands
    sizes = operation.attributes["slice_sizes"]
    places = [
        writer.declare_index(f"{clamp_start(writer, start, (), whole - size)} + {each}")
        for each, start, whole, size in zip(index, starts, operand.type.shape, sizes, strict=True)
    ]
    return [writer.emit_value(operand, places)]


def emit_real_dynamic_slice(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit a slice of static size with start indices and strides from tensors.

    The index is clamped to the operand, whatever the start indices are.
    """
    operand, starts, _, strides = operation.operands
    places = []
    for axis, (each, whole) in enumerate(zip(index, operand.type.shape, strict=True)):
        start, stride = (writer.emit_value(one, (str(axis),)) for one in (starts, strides))
        place = f"long({start}) + long({each}) * long({stride})"
        places.append(writer.declare("int", f"int(clamp({place}, 0l, {whole - 1}l))", "i"))
    return [writer.emit_value(operand, places)]


def emit_dynamic_update_slice(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit the operand with a slice replaced, at clamped start indices."""
    operand, update, *starts = operation.operands
    name = writer.declare_variable(operand.type.element.msl, writer.emit_value(operand, index))
    if not update.type.size:
        return [name]
    places, inside = [], ["true"]
    for each, start, whole, size in zip(
        index, starts, operand.type.shape, update.type.shape, strict=True
    ):
        place = writer.declare_index(f"{each} - {clamp_start(writer, start, (), whole - size)}")
        inside.append(f"{place} >= 0 && {place} < {size}")
        places.append(place)
    with writer.open_block(f"if ({' && '.join(inside)})"):
        writer.add_line(f"{name} = {writer.emit_value(update, places)};")
    return [name]


def emit_gather(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit slices of the operand at clamped start indices from another tensor."""
    operand, starts = operation.operands
    numbers = operation.attributes["dimension_numbers"]
    sizes = operation.attributes["slice_sizes"]
    offsets = numbers["offset_dims"]
    batch = [each for axis, each in enumerate(index) if axis not in offsets]
    skipped = (*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"])
    within = iter([index[axis] for axis in offsets])
    places = ["0" if axis in skipped else next(within) for axis in range(len(sizes))]
    vector = numbers["index_vector_dim"]
    for number, axis in enumerate(numbers["start_index_map"]):
        at = locate_start_index(batch, vector, number, len(starts.type.shape))
        start = clamp_start(writer, starts, at, operand.type.shape[axis] - sizes[axis])
        places[axis] = writer.declare_index(
            start if places[axis] == "0" else f"{start} + {places[axis]}"
        )
    for axis, other in zip(
        numbers["operand_batching_dims"], numbers["start_indices_batching_dims"], strict=True
    ):
        places[axis] = batch[other if other < vector else other - 1]
    return [writer.emit_value(operand, places)]


def locate_start_index(batch: Sequence[str], vector: int, number: int, rank: int) -> list[str]:
    """Return the index of a component of a start index in the tensor of start indices."""
    if vector == rank:
        return list(batch)
    return [*batch[:vector], str(number), *batch[vector:]]


DYNAMIC_MOVEMENT_EMITTERS: dict[str, Emitter] = {
    "dynamic_slice": emit_dynamic_slice,
    "dynamic_update_slice": emit_dynamic_update_slice,
    "gather": emit_gather,
    "real_dynamic_slice": emit_real_dynamic_slice,
}
