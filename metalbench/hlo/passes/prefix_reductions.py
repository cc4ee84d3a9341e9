"""Recognise prefix reductions, and lower them to reductions of chunks.

A `reduce_window` whose windows reach from each element to the beginning or the end of its line is a
prefix reduction, as JAX writes cumulative sums, products, maxima and log-sum-exps. Computed window
by window it would take quadratic time. The StableHLO specification leaves the grouping of a
reduction to the implementation, so its region must be associative.
"""

from __future__ import annotations

from dataclasses import replace

from metalbench.devices import find_kind
from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue
from metalbench.hlo.operations import CONTROL_FLOW

# Shorter windows are computed faster one by one than further kernels are dispatched.
MIN_LENGTH = 32
# Elements of a chunk, which one thread reduces. On CPUs few threads suffice.
GPU_CHUNK = 32
CPU_CHUNK = 256
CPU_THREADS = 1024


def lower_prefix_reductions(block: Block, device: str = "") -> None:
    """Lower prefix reductions in place, also in regions of control flow."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                lower_prefix_reductions(region, device)
        found = find_prefix_axis(operation) if operation.name == "reduce_window" else None
        operations += [operation] if found is None else _lower(operation, *found, device)
    block.operations = operations


def find_prefix_axis(operation: Operation) -> tuple[int, bool] | None:
    """Return the axis of a prefix reduction, and whether it begins at the end of a line.

    Return None for other windows.
    """
    shape, attributes = operation.operands[0].type.shape, operation.attributes
    ones = (1,) * len(shape)
    sizes = tuple(attributes.get("window_dimensions", ones))
    for name in ("window_strides", "window_dilations", "base_dilations"):
        if any(each != 1 for each in attributes.get(name, ones)):
            return None
    axes = [axis for axis, size in enumerate(sizes) if size != 1]
    if len(axes) != 1 or sizes[axes[0]] != shape[axes[0]] or sizes[axes[0]] < MIN_LENGTH:
        return None
    padding = [(0, 0)] * len(shape)
    given = attributes.get("padding")
    if given is not None:
        padding = [(int(each[0]), int(each[1])) for each in given]
    (axis,) = axes
    whole = shape[axis] - 1
    if any(each != (0, 0) for number, each in enumerate(padding) if number != axis):
        return None
    return {(whole, 0): (axis, False), (0, whole): (axis, True)}.get(padding[axis])


def _lower(operation: Operation, axis: int, reverse: bool, device: str) -> list[Operation]:
    """Return the operations of a prefix reduction; the last one has the results of `operation`."""
    half = len(operation.operands) // 2
    operands, initial = operation.operands[:half], operation.operands[half:]
    shape = operands[0].type.shape
    chunk = _choose_chunk(shape[axis], operands[0].type.size // max(shape[axis], 1), device)
    attributes = {"axis": axis, "chunk": chunk, "reverse": reverse}
    if chunk == shape[axis]:
        operation.name, operation.attributes = "prefix_chunks", attributes
        _add_totals(operation, half, attributes)
        return [operation]
    local = _create_like(operation, "prefix_chunks", operation.operands, attributes)
    local.results = [
        TensorValue(each.type, local, number) for number, each in enumerate(operation.results)
    ]
    totals = _add_totals(local, half, attributes)
    further = _create_like(operation, "reduce_window", [*totals, *initial], {})
    further.results = [
        TensorValue(each.type, further, number) for number, each in enumerate(totals)
    ]
    inner = _lower(further, len(totals[0].type.shape) - 1, False, device)
    operation.name, operation.attributes = "prefix_join", attributes
    operation.operands = [*local.results[:half], *inner[-1].results[:half]]
    return [local, *inner, operation]


def _choose_chunk(size: int, lines: int, device: str) -> int:
    """Return the number of elements that a thread reduces."""
    if not find_kind(device).is_simulated:
        return min(size, GPU_CHUNK)
    threads = max(CPU_THREADS // max(lines, 1), 1)
    chunk = max(CPU_CHUNK, -(-size // threads))
    return size if 2 * chunk > size else chunk


def _add_totals(
    operation: Operation, half: int, attributes: dict[str, int | bool]
) -> list[TensorValue]:
    """Append the results with the reduction of each chunk; return them."""
    axis, chunk = int(attributes["axis"]), int(attributes["chunk"])
    shape = operation.operands[0].type.shape
    totals = (*shape[:axis], *shape[axis + 1 :], -(-shape[axis] // chunk))
    added = [
        TensorValue(TensorType(totals, each.type.element), operation, half + number)
        for number, each in enumerate(operation.results[:half])
    ]
    operation.results = [*operation.results, *added]
    return added


def _create_like(
    like: Operation, name: str, operands: list[TensorValue], attributes: dict[str, int | bool]
) -> Operation:
    """Return an operation with the region and location of another one, without results."""
    return replace(like, name=name, operands=list(operands), results=[], attributes=attributes)
