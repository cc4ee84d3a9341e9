"""Emit data movement: maps of indices without arithmetic on elements, static and dynamic."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.errors import Unsupported
from metalbench.hlo.codegen.elementwise import format_conversion, truncate_integer
from metalbench.hlo.codegen.writer import Emitter, Index, KernelWriter, format_literal, get_msl_type
from metalbench.hlo.ir import ELEMENT_TYPES, ElementType, Operation, TensorValue


def emit_constant(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a small constant as a sequence of comparisons with its row-major index."""
    type_ = operation.results[0].type
    values = operation.attributes["value"].reshape(-1)
    place = writer.declare_index(writer.linearize(index, type_.shape))
    name = writer.declare_variable(get_msl_type(type_), format_literal(values[0], type_.element))
    for number, value in list(enumerate(values))[1:]:
        writer.add_line(
            f"if ({place} == {number}) {name} = {format_literal(value, type_.element)};"
        )
    return [name]


def emit_broadcast_in_dim(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit a broadcast along axes that the operand lacks or has with one element."""
    (operand,) = operation.operands
    places = operation.attributes["broadcast_dimensions"]
    sizes = zip(places, operand.type.shape, strict=True)
    return [writer.emit_value(operand, ["0" if size == 1 else index[axis] for axis, size in sizes])]


def emit_broadcast(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a broadcast along new axes in front of the operand's axes."""
    (operand,) = operation.operands
    return [writer.emit_value(operand, index[len(index) - len(operand.type.shape) :])]


def emit_reshape(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit the element with the same row-major number."""
    (operand,) = operation.operands
    old, new = operand.type.shape, operation.results[0].type.shape
    kept = [each for each in index if each != "0"]
    if [each for each in old if each != 1] == [each for each in new if each != 1]:
        # Only axes of one element differ: no index arithmetic is needed.
        rest = iter([index[axis] for axis, size in enumerate(new) if size != 1])
        return [writer.emit_value(operand, ["0" if size == 1 else next(rest) for size in old])]
    place = writer.declare_index(writer.linearize(index, new)) if kept else "0"
    return [writer.emit_value(operand, writer.unravel_index(place, old))]


def emit_transpose(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a permutation of axes."""
    order = operation.attributes["permutation"]
    return [
        writer.emit_value(operation.operands[0], [index[order.index(k)] for k in range(len(order))])
    ]


def emit_slice(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a slice with static start indices and strides."""
    starts, strides = operation.attributes["start_indices"], operation.attributes["strides"]
    places = [
        writer.declare_index(format_affine(each, stride, start))
        for each, start, stride in zip(index, starts, strides, strict=True)
    ]
    return [writer.emit_value(operation.operands[0], places)]


def format_affine(place: str, stride: int, start: int) -> str:
    """Return ``place * stride + start``, simplified."""
    if place.isdigit():
        return str(int(place) * stride + start)
    scaled = place if stride == 1 else f"{place} * {stride}"
    return scaled if not start else f"{scaled} {'+' if start > 0 else '-'} {abs(start)}"


def emit_reverse(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a reversal of axes."""
    backwards = operation.attributes["dimensions"]
    places = [
        writer.declare_index(f"{size - 1} - {each}") if axis in backwards and size > 1 else each
        for axis, (each, size) in enumerate(
            zip(index, operation.results[0].type.shape, strict=True)
        )
    ]
    return [writer.emit_value(operation.operands[0], places)]


def emit_pad(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit edge and interior padding with a scalar."""
    operand, filling = operation.operands
    lows = operation.attributes["edge_padding_low"]
    interiors = operation.attributes["interior_padding"]
    name = writer.declare_variable(get_msl_type(operand.type), writer.emit_value(filling, ()))
    if not operand.type.size:
        return [name]
    places, inside = [], []
    for each, low, interior, size in zip(index, lows, interiors, operand.type.shape, strict=True):
        place = writer.declare_index(format_affine(each, 1, -low))
        inside.append(f"{place} >= 0")
        if interior:
            inside.append(f"{place} % {interior + 1} == 0")
            place = writer.declare_index(f"{place} / {interior + 1}")
        inside.append(f"{place} < {size}")
        places.append(place)
    with writer.open_block(f"if ({' && '.join(inside) or 'true'})"):
        writer.add_line(f"{name} = {writer.emit_value(operand, places)};")
    return [name]


def emit_concatenate(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a concatenation along an axis."""
    axis, start = operation.attributes["dimension"], 0
    type_ = operation.results[0].type
    name = writer.declare_variable(get_msl_type(type_), format_literal(0, type_.element))
    for operand in operation.operands:
        size = operand.type.shape[axis]
        if not size:
            continue
        head = f"if ({index[axis]} >= {start} && {index[axis]} < {start + size})"
        with writer.open_block(head):
            place = writer.declare_index(format_affine(index[axis], 1, -start))
            found = writer.emit_value(operand, [*index[:axis], place, *index[axis + 1 :]])
            writer.add_line(f"{name} = {found};")
        start += size
    return [name]


def emit_iota(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit the index along an axis."""
    type_ = operation.results[0].type
    place = index[operation.attributes["iota_dimension"]]
    return [
        writer.declare(
            get_msl_type(type_),
            format_conversion(f"int({place})", ELEMENT_TYPES["i32"], type_.element),
        )
    ]


def emit_get_dimension_size(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit the static size of an axis."""
    size = operation.operands[0].type.shape[operation.attributes["dimension"]]
    return [format_literal(size, operation.results[0].type.element)]


def emit_bitcast_convert(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a reinterpretation of bits.

    If the types differ in bits, the last axis of the wider or narrower tensor makes up for it.
    """
    operand, type_ = operation.operands[0], operation.results[0].type
    source, target = operand.type.element, type_.element
    for each in (source, target):
        if each.kind == "b":
            raise Unsupported(f"{operation.where}: expected integers or floats, got {each.name}")
    if source == target:
        return [writer.emit_value(operand, index)]
    if source.bits == target.bits:
        found = _format_from_bits(_format_bits(writer.emit_value(operand, index), source), target)
    elif source.bits > target.bits:
        whole = writer.emit_value(operand, index[:-1])
        place = f"({index[-1]} * {target.bits})"
        if source.bits > _WORD_BITS:
            parts = [_format_bits(f"{whole}.{part}", source.arithmetic) for part in "xy"]
            word = f"({place} < {_WORD_BITS} ? {parts[0]} : {parts[1]})"
            bits = f"{word} >> ({place} % {_WORD_BITS})"
        else:
            bits = f"{_format_bits(whole, source)} >> {place}"
        found = _format_from_bits(bits, target)
    else:
        parts = [
            _format_bits(writer.emit_value(operand, [*index, str(number)]), source)
            for number in range(target.bits // source.bits)
        ]
        found = _join_bits(parts, source.bits, target)
    return [writer.declare(get_msl_type(type_), found)]


def _join_bits(parts: Sequence[str], bits: int, target: ElementType) -> str:
    """Return the element that consists of `parts` of `bits` bits each, the lowest first."""
    if target.bits > _WORD_BITS:
        half = len(parts) // 2
        halves = [
            _join_bits(each, bits, target.arithmetic) for each in (parts[:half], parts[half:])
        ]
        return f"{target.msl}({', '.join(halves)})"
    word = _WORDS[max(target.bits, 8)]
    shifted = [f"({word}({part}) << {number * bits})" for number, part in enumerate(parts)]
    return _format_from_bits(" | ".join(shifted), target)


# Complex numbers of two doubles have more bits than any integer.
_WORD_BITS = 64
_WORDS = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}


def _format_bits(name: str, element: ElementType) -> str:
    """Return the bits of an element as an unsigned number.

    Elements of fewer than eight bits are stored in a byte.
    """
    if element.is_small_float:
        return f"{name}.bits"
    bits = f"as_type<{_WORDS[max(element.bits, 8)]}>({name})"
    return f"({bits} & {2**element.bits - 1})" if element.is_narrow else bits


def _format_from_bits(bits: str, element: ElementType) -> str:
    """Return the element with these bits."""
    if element.is_narrow:
        return truncate_integer(bits, element)
    if element.is_small_float:
        return f"{element.msl}::of_bits(({bits}) & {2**element.bits - 1})"
    return f"as_type<{element.msl}>({_WORDS[element.bits]}({bits}))"


STATIC_MOVEMENT_EMITTERS: dict[str, Emitter] = {
    "bitcast_convert": emit_bitcast_convert,
    "broadcast": emit_broadcast,
    "broadcast_in_dim": emit_broadcast_in_dim,
    "concatenate": emit_concatenate,
    "constant": emit_constant,
    "get_dimension_size": emit_get_dimension_size,
    "iota": emit_iota,
    "pad": emit_pad,
    "reshape": emit_reshape,
    "reverse": emit_reverse,
    "slice": emit_slice,
    "transpose": emit_transpose,
}


# Emit data movement at indices that are values of the program: gather and dynamic slices.


def clamp_start(writer: KernelWriter, start: TensorValue, index: Sequence[str], most: int) -> str:
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
