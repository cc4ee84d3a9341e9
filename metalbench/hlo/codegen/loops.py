"""Generate the kernel of a counted loop: each thread runs all iterations on one element."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from metalbench.devices import find_kind
from metalbench.hlo.codegen.kernel import EMITTERS, GeneratedKernel, build_kernel
from metalbench.hlo.codegen.writer import (
    THREAD,
    Index,
    KernelWriter,
    format_loop,
    get_msl_type,
)
from metalbench.hlo.ir import Operation, TensorValue


def build_loop_kernel(
    name: str, operation: Operation, inlined: set[TensorValue], *, device: str = ""
) -> GeneratedKernel:
    """Return the kernel of a `counted_loop`. States are in registers, scalars in every thread."""
    form, (body,) = operation.attributes["loop"], operation.regions
    inside = {each for one in body.operations for each in one.results}
    writer = KernelWriter(EMITTERS, inlined | inside)
    index = writer.unravel_index(THREAD, form.shape)
    size = prod(form.shape)
    arguments = [body.arguments[number] for number in form.states]
    states = [
        writer.declare_variable(get_msl_type(each.type), writer.emit_value(given, place), "s")
        for each, given in zip(arguments, operation.operands, strict=True)
        for place in [_find_place(each, index)]
    ]
    if find_kind(device).is_simulated:
        # Kernels that synchronise run as vectors of threads, loops of one thread as scalars.
        writer.add_line("simdgroup_barrier(mem_flags::mem_none);")
    counter = body.arguments[form.counter]
    with writer.open_block(format_loop("turn", form.iterations)):
        # Signed arithmetic may overflow on the way to a counter that fits.
        type_, wide = get_msl_type(counter.type), counter.type.element.wrapping
        number = f"{wide}({form.start}) + {wide}({form.step}) * {wide}(turn)"
        writer.bind_value(counter, (), writer.declare(type_, f"{type_}({number})", "c"))
        for each, state in zip(arguments, states, strict=True):
            writer.bind_value(each, _find_place(each, index), state)
        _emit_in_order(writer, operation, index)
        for output, place in enumerate(form.stacked, len(states)):
            _write_slice(writer, body.returned[place].operation, f"out{output}", index, size)
        returned = [body.returned[place] for place in form.states]
        found = [
            writer.declare(
                get_msl_type(each.type), writer.emit_value(value, _find_place(each, index))
            )
            for each, value in zip(arguments, returned, strict=True)
        ]
        for state, value in zip(states, found, strict=True):
            writer.add_line(f"{state} = {value};")
    for output, (each, state) in enumerate(zip(arguments, states, strict=True)):
        if each.type.shape == form.shape:
            writer.add_line(f"out{output}[{THREAD}] = {state};")
        else:
            writer.add_line(f"if ({THREAD} == 0) out{output}[0] = {state};")
    return build_kernel(name, writer, operation.results, size)


def _find_place(value: TensorValue, index: Index) -> Index:
    """Return the index of the thread's element of a value, or of the only one of a scalar.

    Axes of one element may have been added.
    """
    rest = iter([each for each in index if each != "0"])
    return tuple("0" if size == 1 else next(rest) for size in value.type.shape)


def _emit_in_order(writer: KernelWriter, operation: Operation, index: Index) -> None:
    """Emit what depends on the state, in order: a long chain would exceed Python's stack."""
    form, (body,) = operation.attributes["loop"], operation.regions
    updates = [body.returned[number].operation for number in form.stacked]
    by_element = {
        body.arguments[number]
        for number in form.states
        if body.arguments[number].type.shape == form.shape
    }
    for each in body.operations:
        if each not in updates and any(one in by_element for one in each.operands):
            by_element.update(each.results)
            writer.emit_value(each.results[0], _find_place(each.results[0], index))


def _write_slice(
    writer: KernelWriter, update: Operation | None, output: str, index: Sequence[str], size: int
) -> None:
    """Write the element of a slice that the loop stacks."""
    assert update is not None
    _, slice_, start, *_ = update.operands
    place = _find_place(slice_, tuple(index))
    element = writer.emit_value(slice_, place)
    row = writer.emit_value(start, ())
    if slice_.type.size == 1 and size > 1:
        writer.add_line(f"if ({THREAD} == 0) {output}[{row}] = {element};")
    else:
        writer.add_line(f"{output}[{row} * {size} + {THREAD}] = {element};")
