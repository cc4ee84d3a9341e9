"""Lower operations on many values: a kernel has few buffers and one iteration space."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isqrt, prod

from metalbench.devices import find_kind
from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue, count_uses
from metalbench.hlo.operations import CONTROL_FLOW

MAX_OPERANDS = 16


def lower_barriers(block: Block) -> None:
    """Give each operand of an optimization barrier a separate barrier, in place.

    The operands may differ in shape and element type, and a kernel has one iteration space. Each
    barrier still hides its operand from optimisations.
    """
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            lower_barriers(region)
        if operation.name == "optimization_barrier":
            operations += _lower_barrier(operation)
        else:
            operations.append(operation)
    block.operations = operations


def _lower_barrier(whole: Operation) -> list[Operation]:
    operations = []
    for operand, result in zip(whole.operands, whole.results, strict=True):
        part = replace(whole, operands=[operand], results=[result])
        result.operation, result.number = part, 0
        operations.append(part)
    return operations


def lower_concatenations(block: Block) -> None:
    """Concatenate many operands in groups, in place, also in regions."""
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            lower_concatenations(region)
        while operation.name == "concatenate" and len(operation.operands) > MAX_OPERANDS:
            groups = [
                operation.operands[start : start + MAX_OPERANDS]
                for start in range(0, len(operation.operands), MAX_OPERANDS)
            ]
            parts = [_concatenate_group(operation, group) for group in groups]
            operations += parts
            operation.operands = [each.results[0] for each in parts]
        operations.append(operation)
    block.operations = operations


def _concatenate_group(whole: Operation, operands: list[TensorValue]) -> Operation:
    """Return the concatenation of some of the operands."""
    axis = whole.attributes["dimension"]
    shape = list(operands[0].type.shape)
    shape[axis] = sum(each.type.shape[axis] for each in operands)
    operation = replace(whole, operands=operands, results=[])
    operation.results = [TensorValue(TensorType(tuple(shape), operands[0].type.element), operation)]
    return operation


# Lower sorts of long lines to sorts of short runs, and merges of runs.
#
# The comparator must be a strict weak order, as the StableHLO specification requires. Otherwise
# (such as `LT` on NaNs) neither StableHLO nor this lowering defines the result.

# One thread sorts a run by insertion. With the many threads of a GPU, merges of all runs take less
# time than a long insertion.
RUN_LENGTH, CPU_RUN_LENGTH = 16, 256
# Shorter lines are sorted faster than further kernels are dispatched.
MIN_LINE_LENGTH, CPU_MIN_LINE_LENGTH = 128, 4 * CPU_RUN_LENGTH
# On a CPU, few lines fill few vector lanes, and moving words is cheap. Each pair is a largest
# number of lines, and a factor of CPU_MIN_LINE_LENGTH for it (benchmarks/sorting.py).
CPU_LINE_FACTORS = ((1, 32), (31, 4))


def lower_sorts(block: Block, device: str = "") -> None:
    """Lower sorts in place, also in regions of control flow; `device` is the target kind."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                lower_sorts(region, device)
        if operation.name == "sort":
            operations += _lower_sort(operation, device)
        operations.append(operation)
    block.operations = operations


def _find_shortest_line(lines: int, device: str) -> int:
    """Return the smallest length of lines that are sorted by merging."""
    if not find_kind(device).is_simulated:
        return MIN_LINE_LENGTH
    return CPU_MIN_LINE_LENGTH * next(
        (times for most, times in CPU_LINE_FACTORS if lines <= most), 1
    )


def _lower_sort(sort: Operation, device: str) -> list[Operation]:
    """Return the operations before the last merge, and make `sort` that merge.

    The list is empty if the sort stays.
    """
    shape = sort.operands[0].type.shape
    size = shape[sort.attributes.get("dimension", -1)] if shape else 1
    if size < _find_shortest_line(sort.operands[0].type.size // max(size, 1), device):
        return []
    attributes = sort.attributes
    width = CPU_RUN_LENGTH if find_kind(device).is_simulated else RUN_LENGTH
    operations = [_create_stage(sort, sort.operands, {**attributes, "run": width})]
    while 2 * width < size:
        operations.append(
            _create_stage(sort, operations[-1].results, {**attributes, "merged": width})
        )
        width *= 2
    sort.operands = list(operations[-1].results)
    sort.attributes = {**attributes, "merged": width}
    return operations


def _create_stage(
    like: Operation, operands: list[TensorValue], attributes: dict[str, object]
) -> Operation:
    """Return a sort with other operands and attributes."""
    operation = replace(like, operands=list(operands), results=[], attributes=attributes)
    operation.results = [
        TensorValue(each.type, operation, number) for number, each in enumerate(operands)
    ]
    return operation


# Divide scatters whose updates may collide among threads.

# Each number of parts is prime: positions of elements in one column have all remainders.
SCATTER_PARTS = (1021, 509, 251, 127, 61, 31, 13, 7)
# Threads of a divided scatter. Each of them reads the indices of all updates.
MAX_SCATTER_THREADS = 1 << 15
# Updates of a part, below which a thread reads more indices than it saves updates.
MIN_UPDATES_OF_PART = 4


def divide_scatters(block: Block, device: str = "") -> None:
    """Set the attribute `parts` of scatters for GPUs, also in regions of control flow."""
    if find_kind(device).is_simulated:
        return
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                divide_scatters(region, device)
        if operation.name == "scatter":
            windows = operation.operands[len(operation.operands) // 2 + 1].type.shape
            apart, in_turn = (
                prod(windows[axis] for axis in axes) for axes in split_update_axes(operation)
            )
            for parts in SCATTER_PARTS:
                if apart * parts <= MAX_SCATTER_THREADS and MIN_UPDATES_OF_PART * parts <= in_turn:
                    operation.attributes = {**operation.attributes, "parts": parts}
                    break


def split_update_axes(operation: Operation) -> tuple[list[int], list[int]]:
    """Return the axes of a scatter's updates along which no two updates collide, and the others."""
    count = len(operation.operands) // 2
    apart = _find_collision_free_axes(operation)
    rank = len(operation.operands[count + 1].type.shape)
    return apart, [axis for axis in range(rank) if axis not in apart]


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


# Lower sorts of which only the first elements are used to a selection of these.

# More elements are selected faster by a sort.
MAX_SELECTED = 64
# Elements of a line for each selected one, below which a sort is as fast.
MIN_SHARE = 4
# Threads that select, of which each has a chunk of a line.
SELECTING_THREADS, SELECTING_CPU_THREADS = 1 << 14, 64


def lower_selections(block: Block, device: str = "") -> None:
    """Lower sorts in place, also in regions of control flow; `device` is the target kind."""
    uses = count_uses(block)
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                lower_selections(region, device)
        if operation.name == "sort":
            operations += _lower_selection(operation, block, uses, device)
        operations.append(operation)
    block.operations = operations


def _lower_selection(
    sort: Operation, block: Block, uses: Counter[TensorValue], device: str
) -> list[Operation]:
    """Return the selections that define the slices of a sort; the unused sort is removed later.

    The list is empty if other elements of the sort are used.
    """
    shape = sort.operands[0].type.shape
    axis = sort.attributes.get("dimension", -1) % max(len(shape), 1)
    slices = [
        each for each in block.operations if each.operands and each.operands[0] in sort.results
    ]
    counts = {_count_selected(each, axis) for each in slices}
    if len(counts) != 1 or any(uses[each] > 1 for each in sort.results):
        return []
    (count,) = counts
    if not 0 < count <= MAX_SELECTED or shape[axis] < MIN_SHARE * count:
        return []
    given, operations = list(sort.operands), []
    chunks = _count_chunks(sort.operands[0].type, axis, count, device)
    while given:
        size = chunks * count
        result = (*shape[:axis], size, *shape[axis + 1 :])
        selection = _create_like(
            sort,
            "top_k",
            given,
            [result] * len(given),
            {"dimension": axis, "k": count, "chunks": chunks},
            keeps_regions=True,
        )
        operations.append(selection)
        given = list(selection.results) if chunks > 1 else []
        chunks = 1
    last = operations[-1]
    for each in slices:
        number = sort.results.index(each.operands[0])
        # A slice of all elements is the value itself.
        each.operands = [last.results[number]]
    return operations


def _count_selected(operation: Operation, axis: int) -> int:
    """Return how many first elements along an axis a slice takes; 0 for other operations."""
    if operation.name != "slice":
        return 0
    shape, attributes = operation.operands[0].type.shape, operation.attributes
    limits = tuple(attributes["limit_indices"])
    is_first = all(each == 0 for each in attributes["start_indices"])
    is_dense = all(each == 1 for each in attributes["strides"])
    is_whole = all(limits[each] == shape[each] for each in range(len(shape)) if each != axis)
    return limits[axis] if is_first and is_dense and is_whole else 0


def _count_chunks(type_: TensorType, axis: int, count: int, device: str) -> int:
    """Return the number of chunks of a line."""
    size = type_.shape[axis]
    threads = SELECTING_CPU_THREADS if find_kind(device).is_simulated else SELECTING_THREADS
    most = size // (MIN_SHARE * count)
    return max(min(threads // max(type_.size // size, 1), most), 1)


# Split reductions of many elements to few results into partial reductions and a final one.
#
# The order of the elements stays. The StableHLO specification of `reduce` leaves the grouping, and
# the number of uses of the initial value, to the implementation.

# Fewer elements are reduced faster than another kernel is dispatched.
MIN_ELEMENTS = 512
# This many results already occupy a device.
MAX_RESULTS = 256
MAX_THREADS = 4096
MIN_PARTS = 8


def split_reductions(block: Block) -> None:
    """Split reductions in place, also in regions of control flow."""
    operations: list[Operation] = []
    for operation in block.operations:
        if operation.name == "reduce":
            operations += _split_reduction(operation)
        elif operation.name in CONTROL_FLOW:
            for region in operation.regions:
                split_reductions(region)
        operations.append(operation)
    block.operations = operations


def _split_reduction(reduce: Operation) -> list[Operation]:
    """Return the partial reduction of `reduce`, and make `reduce` the final one.

    The list is empty if the reduction stays.
    """
    half = len(reduce.operands) // 2
    shape = reduce.operands[0].type.shape
    axes = sorted(reduce.attributes["dimensions"])
    parts = _choose_part_count([shape[each] for each in axes], reduce.results[0].type.size)
    if not parts:
        return []
    first = axes[0]
    split = (*shape[:first], parts, shape[first] // parts, *shape[first + 1 :])
    inner = [first + 1, *(each + 1 for each in axes[1:])]
    kept = tuple(size for axis, size in enumerate(split) if axis not in inner)
    operations = [
        _create_like(reduce, "reshape", [each], [split], {}) for each in reduce.operands[:half]
    ]
    reshaped = [each.results[0] for each in operations]
    partial = _create_like(
        reduce,
        "reduce",
        [*reshaped, *reduce.operands[half:]],
        [kept] * half,
        {"dimensions": inner},
        keeps_regions=True,
    )
    reduce.operands = [*partial.results, *reduce.operands[half:]]
    reduce.attributes = {**reduce.attributes, "dimensions": [first]}
    return [*operations, partial]


def _choose_part_count(sizes: list[int], results: int) -> int:
    """Return the number of parts, or 0 if the reduction should stay as it is."""
    count = prod(sizes)
    if count < MIN_ELEMENTS or not 0 < results < MAX_RESULTS:
        return 0
    most = min(MAX_THREADS // results, 2 * isqrt(count))
    found = [each for each in range(MIN_PARTS, most + 1) if sizes[0] % each == 0]
    return found[-1] if found else 0


def _create_like(
    like: Operation,
    name: str,
    operands: list[TensorValue],
    shapes: list[tuple[int, ...]],
    attributes: dict[str, object],
    *,
    keeps_regions: bool = False,
) -> Operation:
    """Return an operation with the location of another one."""
    operation = replace(
        like,
        name=name,
        operands=operands,
        results=[],
        attributes=attributes,
        regions=like.regions if keeps_regions else [],
    )
    operation.results = [
        TensorValue(TensorType(shape, operand.type.element), operation, number)
        for number, (shape, operand) in enumerate(zip(shapes, operands, strict=False))
    ]
    return operation
