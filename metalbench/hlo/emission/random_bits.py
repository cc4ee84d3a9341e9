"""Generate rng_bit_generator: counter-based random numbers, one thread for each element.

The order of counters is that of XLA on the CPU, so that a key gives the same numbers.
"""

from __future__ import annotations

from math import prod

from metalbench.errors import Unsupported
from metalbench.hlo.emission.elementwise import truncate_integer
from metalbench.hlo.emission.kernel import KernelStage
from metalbench.hlo.emission.writer import KernelWriter
from metalbench.hlo.graph import Operation, TensorType


def build_rng_bit_generator(operation: Operation) -> list[KernelStage]:
    """Return the stages that update the state and fill the result.

    The state is a key and a counter of one word, or for Philox of one or two words.
    """
    (state,), (_, result) = operation.operands, operation.results
    is_threefry = operation.attributes["rng_algorithm"] == "THREE_FRY"
    _check_types(operation, is_threefry)
    count = _count_counters(result.type, is_threefry)

    def update(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        own, low = writer.emit_value(state, (thread,)), writer.emit_value(state, ("1",))
        writer.add_line(f"ulong next = {own};")
        writer.add_line(f"if (i == 1u) next = {low} + {count}ul;")
        writer.add_line(f"if (i == 2u && {low} + {count}ul < {low}) next += 1ul;")
        writer.add_line(f"{outputs[0]}[i] = next;")

    def fill(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        key, low = (writer.emit_value(state, (each,)) for each in "01")
        if is_threefry:
            place, word = _locate_threefry_word(writer, thread, result.type)
            writer.add_line(f"const uint2 bits = shlo::threefry({key}, {low} + ulong({place}));")
        else:
            each = _count_philox_elements(result.type)
            # If the state has no word for the counter's upper half, XLA uses the key.
            high = writer.emit_value(state, ("2",)) if state.type.size == 3 else key
            counter = writer.declare("ulong", f"{low} + ulong({thread} / {each})")
            carried = f"{high} + ulong({counter} < {low})"
            writer.add_line(f"const uint4 bits = shlo::philox({key}, {counter}, {carried});")
            word = writer.declare_index(f"{thread} % {each} * {4 // each}")
        found = f"bits[{word}]"
        if result.type.element.bits == 64:
            found = f"ulong({found}) | ulong(bits[{word} + 1]) << 32"
        writer.add_line(f"{outputs[1]}[i] = {truncate_integer(found, result.type.element)};")

    return [KernelStage(state.type.size, update), KernelStage(result.type.size, fill)]


def _check_types(operation: Operation, is_threefry: bool) -> None:
    """Raise Unsupported for another state, or for elements that are not integers."""
    (state,), (_, result) = operation.operands, operation.results
    sizes = (2,) if is_threefry else (2, 3)
    if state.type.element.name != "ui64" or state.type.shape not in [(each,) for each in sizes]:
        expected = " or ".join(f"tensor<{each}xui64>" for each in sizes)
        raise Unsupported(f"{operation.where}: expected a state {expected}, got {state.type}")
    if not result.type.element.is_integer:
        raise Unsupported(f"{operation.where}: expected integers, got {result.type}")


def _count_counters(type_: TensorType, is_threefry: bool) -> int:
    """Return the number of counters that a result needs."""
    if is_threefry:
        return type_.size if type_.element.bits == 64 else prod(_split_threefry_axis(type_)[1])
    return -(-type_.size // _count_philox_elements(type_))


def _count_philox_elements(type_: TensorType) -> int:
    """Return the number of elements from one counter of Philox."""
    return 2 if type_.element.bits == 64 else 4


def _split_threefry_axis(type_: TensorType) -> tuple[int, list[int]]:
    """Return the axis whose halves share counters, and the shape of the counters.

    It is the first axis of even size, or else the first of the longest axes.
    """
    sizes = list(type_.shape) or [1]
    even = [axis for axis, size in enumerate(sizes) if size % 2 == 0]
    axis = even[0] if even else sizes.index(max(sizes))
    sizes[axis] = -(-sizes[axis] // 2)
    return axis, sizes


def _locate_threefry_word(writer: KernelWriter, thread: str, type_: TensorType) -> tuple[str, str]:
    """Return the counter of an element, and which of the counter's words it is."""
    if type_.element.bits == 64:
        return thread, "0"
    axis, sizes = _split_threefry_axis(type_)
    index = list(writer.unravel_index(thread, type_.shape or (1,)))
    word = writer.declare_index(f"{index[axis]} % 2")
    index[axis] = writer.declare_index(f"{index[axis]} / 2")
    return writer.linearize(index, sizes), word
