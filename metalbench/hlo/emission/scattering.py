"""Generate scatter: updates of an operand at indices that are values of the program."""

from __future__ import annotations

from contextlib import ExitStack
from math import prod

from metalbench.hlo.emission.indexing import locate_start_index
from metalbench.hlo.emission.kernel import KernelStage
from metalbench.hlo.emission.reductions import open_loops
from metalbench.hlo.emission.writer import KernelWriter, get_msl_type
from metalbench.hlo.graph import Operation


def build_scatter(operation: Operation) -> list[KernelStage]:
    """Return the stages that copy the operands, then update them.

    Two updates of one element may collide, and the region is arbitrary. Only a fixed order gives
    the same result every time, so one thread applies the updates that may collide. Updates that
    never collide are parallel.
    """
    count = len(operation.operands) // 2
    operands, updates = operation.operands[:count], operation.operands[count + 1 :]
    shape, windows = operands[0].type.shape, updates[0].type.shape
    apart = _find_collision_free_axes(operation)
    in_turn = [axis for axis in range(len(windows)) if axis not in apart]

    def copy(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = writer.unravel_index(thread, shape)
        for value, output in zip(operands, outputs, strict=True):
            writer.add_line(f"{output}[i] = {writer.emit_value(value, index)};")

    def update(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        own = iter(writer.unravel_index(thread, [windows[axis] for axis in apart]))
        with ExitStack() as stack:
            turns = iter(open_loops(writer, stack, [windows[axis] for axis in in_turn]))
            index = [next(own if axis in apart else turns) for axis in range(len(windows))]
            places, inside = _locate_target(writer, operation, index)
            stack.enter_context(writer.open_block(f"if ({inside})"))
            place = writer.declare_index(writer.linearize(places, shape))
            old = [
                writer.declare(get_msl_type(each.type), f"{output}[{place}]")
                for each, output in zip(operands, outputs, strict=True)
            ]
            new = writer.emit_region(
                operation.regions[0], [*old, *(writer.emit_value(each, index) for each in updates)]
            )
            for output, name in zip(outputs, new, strict=True):
                writer.add_line(f"{output}[{place}] = {name};")

    stages = [KernelStage(operands[0].type.size, copy)]
    threads = prod(windows[axis] for axis in apart)
    return [*stages, KernelStage(threads, update)] if updates[0].type.size else stages


def _find_collision_free_axes(operation: Operation) -> list[int]:
    """Return the axes of the updates along which no two updates collide.

    Along an axis of the window without a start index, and along a batch axis, the index in the
    operand is the index in the updates. With unique indices, no axis has collisions.
    """
    count = len(operation.operands) // 2
    numbers = operation.attributes["scatter_dimension_numbers"]
    updates, window = operation.operands[count + 1].type.shape, numbers["update_window_dims"]
    if operation.attributes.get("unique_indices"):
        return list(range(len(updates)))
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    rank = len(operation.operands[0].type.shape)
    of_window = [axis for axis in range(rank) if axis not in skipped]
    shifted = numbers["scattered_dims_to_operand_dims"]
    apart = [at for at, axis in zip(window, of_window, strict=True) if axis not in shifted]
    vector = numbers["index_vector_dim"]
    scattered = [axis for axis in range(len(updates)) if axis not in window]
    for other in numbers["scatter_indices_batching_dims"]:
        apart.append(scattered[other if other < vector else other - 1])
    return sorted(apart)


def _locate_target(
    writer: KernelWriter, operation: Operation, index: list[str]
) -> tuple[list[str], str]:
    """Return the index of an update in the operand, and the condition that it is in bounds."""
    count = len(operation.operands) // 2
    shape, starts = operation.operands[0].type.shape, operation.operands[count]
    numbers = operation.attributes["scatter_dimension_numbers"]
    window, vector = numbers["update_window_dims"], numbers["index_vector_dim"]
    batch = [each for axis, each in enumerate(index) if axis not in window]
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    within = iter([index[axis] for axis in window])
    offsets = ["0" if axis in skipped else next(within) for axis in range(len(shape))]
    places, inside = list(offsets), ["true"]
    for number, axis in enumerate(numbers["scattered_dims_to_operand_dims"]):
        at = locate_start_index(batch, vector, number, len(starts.type.shape))
        # A start index may have 64 bits: the sum must not wrap into the operand.
        start = writer.declare("long", f"long({writer.emit_value(starts, at)})")
        place = writer.declare("int", f"int({start} + {offsets[axis]})")
        inside.append(f"{start} >= -{shape[axis]} && {start} <= {shape[axis]}")
        inside.append(f"{place} >= 0 && {place} < {shape[axis]}")
        places[axis] = place
    for axis, other in zip(
        numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"], strict=True
    ):
        places[axis] = batch[other if other < vector else other - 1]
    return places, " && ".join(inside)
