"""Verify the shapes and element types by which kernels index.

A kernel indexes its buffers by one iteration space. Whether that is in bounds follows from the
types. MLIR verifies the program that it parses. This pass verifies the graph after our passes,
right before code generation, so that a defect of a pass is an error and never an access outside a
buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import prod

from metalbench.errors import MetalBenchError, Unsupported
from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue
from metalbench.hlo.operations import ELEMENTWISE

# Indices in kernels are 32-bit integers, including those that are out of bounds.
MAX_INDEX = 2**31 - 1
Shape = tuple[int, ...]


class GraphError(MetalBenchError, AssertionError):
    """An invalid graph: a defect of a pass, not of the program."""


def verify(block: Block, outer: Sequence[TensorValue] = ()) -> None:
    """Raise GraphError with the operation's name where types do not fit, also in regions.

    `outer` are the values that the block may capture. Raise Unsupported if an index into a padded
    or dilated tensor exceeds 32 bits.
    """
    known = {*outer, *block.arguments}
    for operation in block.operations:
        _require(
            operation, known.issuperset(operation.operands), "operands that are defined before"
        )
        _require(
            operation,
            all(
                each.operation is operation and each.number == number
                for number, each in enumerate(operation.results)
            ),
            "results that refer to their operation",
        )
        for region in operation.regions:
            verify(region, tuple(known))
        if operation.name in ELEMENTWISE:
            _verify_elementwise(operation)
        elif operation.name in _RULES:
            _RULES[operation.name](operation)
        known.update(operation.results)
    if not known.issuperset(block.returned):
        raise GraphError(
            "[hlo] expected a block to return values that it defines, got another value"
        )


def _require(operation: Operation, condition: bool, expected: str) -> None:
    """Raise GraphError, naming `expected`, unless a condition holds."""
    if not condition:
        operands = ", ".join(str(each.type) for each in operation.operands)
        results = ", ".join(str(each.type) for each in operation.results)
        raise GraphError(
            f"{operation.where}: expected {expected}, got ({operands}) -> ({results}); "
            "this is a defect of metalbench: please report it with the program"
        )


def _get_shapes(values: Sequence[TensorValue]) -> list[Shape]:
    return [each.type.shape for each in values]


def _get_types(values: Sequence[TensorValue]) -> list[TensorType]:
    return [each.type for each in values]


def _verify_elementwise(operation: Operation) -> None:
    (result,) = operation.results
    shapes = _get_shapes(operation.operands)
    if operation.name == "select":
        shapes = shapes[1:] + [each for each in shapes[:1] if each]
    elif operation.name == "clamp":
        shapes = [each for number, each in enumerate(shapes) if number == 1 or each]
    same = all(each == result.type.shape for each in shapes)
    _require(operation, same, "operands of the result's shape")


def _verify_same_shapes(operation: Operation) -> None:
    """Require that operands and results have one shape."""
    shapes = {*_get_shapes(operation.operands), *_get_shapes(operation.results)}
    _require(operation, len(shapes) == 1, "operands and results of one shape")


def _verify_barrier(operation: Operation) -> None:
    fits = len(operation.results) == 1 and _get_types(operation.operands) == _get_types(
        operation.results
    )
    _require(operation, fits, "one operand, and a result of its type")


def _verify_reshape(operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    _require(operation, operand.type.size == result.type.size, "as many elements as before")


def _verify_broadcast_in_dim(operation: Operation) -> None:
    (operand,), (result,) = operation.operands, operation.results
    axes, shape = operation.attributes["broadcast_dimensions"], result.type.shape
    fits = len(axes) == len(operand.type.shape) and all(
        axis < len(shape) and size in (1, shape[axis])
        for axis, size in zip(axes, operand.type.shape, strict=True)
    )
    _require(operation, fits, "axes of the operand's size, or of one element")


def _verify_broadcast(operation: Operation) -> None:
    own, whole = operation.operands[0].type.shape, operation.results[0].type.shape
    fits = whole[len(whole) - len(own) :] == own
    _require(operation, fits, "new axes in front of the operand's")


def _verify_transpose(operation: Operation) -> None:
    shape, order = operation.operands[0].type.shape, operation.attributes["permutation"]
    fits = sorted(order) == list(range(len(shape))) and operation.results[0].type.shape == tuple(
        shape[axis] for axis in order
    )
    _require(operation, fits, "the operand's axes in another order")


def _verify_slice(operation: Operation) -> None:
    shape, result = operation.operands[0].type.shape, operation.results[0].type.shape
    starts, strides = operation.attributes["start_indices"], operation.attributes["strides"]
    fits = len(shape) == len(result) and all(
        start >= 0 and stride > 0 and (count == 0 or start + (count - 1) * stride < size)
        for start, stride, count, size in zip(starts, strides, result, shape, strict=True)
    )
    _require(operation, fits, "a part of the operand")


def _verify_dynamic_slice(operation: Operation) -> None:
    operand, *starts = operation.operands
    sizes, shape = operation.results[0].type.shape, operand.type.shape
    fits = (
        len(starts) == len(shape) == len(sizes)
        and not any(_get_shapes(starts))
        and sizes == tuple(operation.attributes["slice_sizes"])
        and all(size <= whole for size, whole in zip(sizes, shape, strict=True))
    )
    _require(operation, fits, "a part of the operand and a start for each axis")


def _verify_dynamic_update_slice(operation: Operation) -> None:
    operand, update, *starts = operation.operands
    sizes, shape = update.type.shape, operand.type.shape
    fits = (
        operand.type == operation.results[0].type
        and len(starts) == len(shape) == len(sizes)
        and not any(_get_shapes(starts))
        and all(size <= whole for size, whole in zip(sizes, shape, strict=True))
    )
    _require(operation, fits, "a part of the operand and a start for each axis")


def _verify_concatenate(operation: Operation) -> None:
    axis, shape = operation.attributes["dimension"], operation.results[0].type.shape

    def rest(whole: Shape) -> Shape:
        return (*whole[:axis], *whole[axis + 1 :])

    shapes = _get_shapes(operation.operands)
    fits = all(rest(each) == rest(shape) for each in shapes) and shape[axis] == sum(
        each[axis] for each in shapes
    )
    _require(operation, fits, "operands that are the result along one axis")


def _verify_pad(operation: Operation) -> None:
    shape, result = operation.operands[0].type.shape, operation.results[0].type.shape
    low, high, interior = (
        operation.attributes[each]
        for each in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    extents = [_dilate(size, more + 1) for size, more in zip(shape, interior, strict=True)]
    padded = tuple(sum(each) for each in zip(extents, low, high, strict=True))
    _require(operation, padded == result, "the operand with its padding")
    _check_index_range(operation, chain(extents, low, high))


def _dilate(size: int, step: int) -> int:
    """Return the extent of `size` elements with a step of `step` between them."""
    return (size - 1) * step + 1 if size else 0


def _check_index_range(operation: Operation, numbers: object) -> None:
    """Raise Unsupported if a number exceeds the range of an index."""
    found = [int(each) for each in numbers]  # type: ignore[attr-defined]
    largest = max(map(abs, found), default=0)
    if largest > MAX_INDEX:
        raise Unsupported(
            f"{operation.where}: expected padded and dilated sizes of at most {MAX_INDEX} "
            f"elements, got {largest}"
        )


def _verify_reduce(operation: Operation) -> None:
    half = len(operation.results)
    operands, initial = operation.operands[:half], operation.operands[half:]
    axes = set(operation.attributes["dimensions"])
    shapes = set(_get_shapes(operands))
    kept = tuple(size for axis, size in enumerate(operands[0].type.shape) if axis not in axes)
    fits = (
        len(initial) == half
        and len(shapes) == 1
        and not any(_get_shapes(initial))
        and all(each == kept for each in _get_shapes(operation.results))
    )
    _require(operation, fits, "operands of one shape, and results of what is left of it")
    _require_scalar_region(operation, operation.regions[0], 2 * half, half)


def _require_scalar_region(operation: Operation, region: Block, taken: int, given: int) -> None:
    """Require a region with given numbers of scalar arguments and results."""
    fits = (
        len(region.arguments) == taken
        and len(region.returned) == given
        and not any(_get_shapes([*region.arguments, *region.returned]))
    )
    _require(operation, fits, f"a region from {taken} to {given} scalars")


def _verify_windows(operation: Operation, operand: Shape, windows: Shape, *, regions: int) -> None:
    """Require the number of windows that sizes, strides, dilations and padding give."""
    ones = (1,) * len(operand)
    sizes = operation.attributes.get("window_dimensions", ones)
    strides = operation.attributes.get("window_strides", ones)
    inner = operation.attributes.get("window_dilations", ones)
    outer = operation.attributes.get("base_dilations", ones)
    padding = operation.attributes.get("padding")
    edges = (
        [(0, 0)] * len(operand) if padding is None else [tuple(map(int, one)) for one in padding]
    )
    _require(operation, len(operand) == len(windows), "as many axes as the operand has")
    for axis, count in enumerate(windows):
        spread = _dilate(operand[axis], outer[axis])
        window = _dilate(sizes[axis], inner[axis])
        whole = spread + sum(edges[axis])
        found = (whole - window) // strides[axis] + 1 if whole >= window else 0
        _require(operation, count == found, f"{found} windows on axis {axis}")
        _check_index_range(
            operation, (spread, window, whole, *edges[axis], strides[axis] * max(count - 1, 0))
        )
    _require(operation, len(operation.regions) == regions, f"{regions} regions")


def _verify_reduce_window(operation: Operation) -> None:
    half = len(operation.results)
    operands, initial = operation.operands[:half], operation.operands[half:]
    fits = (
        len(initial) == half
        and len(set(_get_shapes(operands))) == 1
        and len(set(_get_shapes(operation.results))) == 1
        and not any(_get_shapes(initial))
    )
    _require(operation, fits, "operands of one shape, and results of one shape")
    shape = operation.results[0].type.shape
    _verify_windows(operation, operands[0].type.shape, shape, regions=1)
    _require_scalar_region(operation, operation.regions[0], 2 * half, half)


def _verify_select_and_scatter(operation: Operation) -> None:
    operand, source, initial = operation.operands
    fits = operand.type.shape == operation.results[0].type.shape and not initial.type.shape
    _require(operation, fits, "a result of the operand's shape")
    _verify_windows(operation, operand.type.shape, source.type.shape, regions=2)
    for region in operation.regions:
        _require_scalar_region(operation, region, 2, 1)


def _verify_convolution(operation: Operation) -> None:
    (image, kernel), (result,) = _get_shapes(operation.operands), _get_shapes(operation.results)
    attributes = operation.attributes
    numbers = attributes["dimension_numbers"]
    spatial = numbers["input_spatial_dimensions"]
    ones = (1,) * len(spatial)
    strides = attributes.get("window_strides", ones)
    inner = attributes.get("rhs_dilation", ones)
    outer = attributes.get("lhs_dilation", ones)
    padding = attributes.get("padding")
    edges = [(0, 0)] * len(ones) if padding is None else [tuple(map(int, one)) for one in padding]
    features, batches = attributes["feature_group_count"], attributes["batch_group_count"]
    out = kernel[numbers["kernel_output_feature_dimension"]]
    fits = (
        len(image) == len(kernel) == len(result) == len(spatial) + 2
        and result[numbers["output_feature_dimension"]] == out
        and result[numbers["output_batch_dimension"]] * batches
        == image[numbers["input_batch_dimension"]]
        and image[numbers["input_feature_dimension"]]
        == kernel[numbers["kernel_input_feature_dimension"]] * features
        and out % (features * batches) == 0
    )
    _require(operation, fits, "features and batches that fit")
    for axis, at in enumerate(spatial):
        spread = _dilate(image[at], outer[axis])
        window = _dilate(kernel[numbers["kernel_spatial_dimensions"][axis]], inner[axis])
        count = result[numbers["output_spatial_dimensions"][axis]]
        whole = spread + sum(edges[axis])
        found = (whole - window) // strides[axis] + 1 if whole >= window else 0
        _require(operation, count == found, f"{found} windows on spatial axis {axis}")
        _check_index_range(
            operation, (spread, window, whole, *edges[axis], strides[axis] * max(count - 1, 0))
        )


def _verify_dot_general(operation: Operation) -> None:
    numbers = operation.attributes["dot_dimension_numbers"]
    left, right = _get_shapes(operation.operands)
    batches = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
    contracted = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]

    def sizes(axes: tuple[Sequence[int], Sequence[int]]) -> tuple[list[int], list[int]]:
        return [left[each] for each in axes[0]], [right[each] for each in axes[1]]

    def free(shape: Shape, side: int) -> list[int]:
        taken = {*batches[side], *contracted[side]}
        return [size for axis, size in enumerate(shape) if axis not in taken]

    (ours, theirs), (depth, other) = sizes(batches), sizes(contracted)
    shape = (*ours, *free(left, 0), *free(right, 1))
    fits = ours == theirs and depth == other and operation.results[0].type.shape == shape
    _require(operation, fits, f"a result of shape {shape}")


def _verify_counted_loop(operation: Operation) -> None:
    (body,), form = operation.regions, operation.attributes["loop"]
    arguments = _get_types(body.arguments)
    states = [arguments[each] for each in form.states]
    stacked = [arguments[each] for each in form.stacked]
    fits = _get_types(operation.operands) == states
    fits = fits and _get_types(operation.results) == [*states, *stacked]
    fits = fits and all(each.shape in (form.shape, ()) for each in states)
    fits = fits and all(each.shape[0] == form.iterations for each in stacked)
    fits = fits and all(each.shape[1:] in (form.shape, ()) for each in stacked)
    _require(operation, fits, f"states of shape {form.shape}, and as many rows as iterations")


def _verify_pack_panels(operation: Operation) -> None:
    (operand,), (result,) = _get_shapes(operation.operands), _get_shapes(operation.results)
    batch, own, depth = (operation.attributes[each] for each in ("batch", "own", "depth"))
    width = operation.attributes["width"]
    *outer, last = (operand[each] for each in (*batch, *own))
    shape = (*outer, -(-last // width), prod(operand[each] for each in depth), width)
    fits = sorted((*batch, *own, *depth)) == list(range(len(operand))) and result == shape
    _require(operation, fits, f"panels of shape {shape}")


def _verify_packed_product(operation: Operation) -> None:
    (left, right), (result,) = _get_shapes(operation.operands), _get_shapes(operation.results)
    batches, tile = (operation.attributes[each] for each in ("batches", "tile"))
    packs_rows = operation.attributes["packs_rows"]
    columns = len(right) - batches - 2
    batch, rows = result[:batches], result[batches : len(result) - columns]
    last = result[len(result) - columns :]
    depth = right[-2]
    sides = [(*batch, *rows, depth), (*batch, *last, depth)]
    for number, width in enumerate(tile):
        *outer, size, _ = sides[number]
        if number == 1 or packs_rows:
            sides[number] = (*outer, -(-size // width), depth, width)
    _require(operation, [left, right] == sides, f"operands of shapes {sides[0]} and {sides[1]}")


def _verify_sort(operation: Operation) -> None:
    _verify_same_shapes(operation)
    same = _get_types(operation.operands) == _get_types(operation.results)
    _require(operation, same, "results of the operands' types")
    _require_scalar_region(operation, operation.regions[0], 2 * len(operation.operands), 1)


def _verify_gather(operation: Operation) -> None:
    (operand, starts), (result,) = _get_shapes(operation.operands), _get_shapes(operation.results)
    numbers, sizes = operation.attributes["dimension_numbers"], operation.attributes["slice_sizes"]
    skipped = {*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"]}
    window = [size for axis, size in enumerate(sizes) if axis not in skipped]
    vector = numbers["index_vector_dim"]
    batch = [size for axis, size in enumerate(starts) if axis != vector]
    offsets = numbers["offset_dims"]
    fits = (
        len(sizes) == len(operand)
        and all(0 <= size <= whole for size, whole in zip(sizes, operand, strict=True))
        and all(sizes[axis] <= 1 for axis in skipped)
        and [result[axis] for axis in offsets] == window
        and [size for axis, size in enumerate(result) if axis not in offsets] == batch
        and (len(numbers["start_index_map"]) == (starts[vector] if vector < len(starts) else 1))
    )
    _require(operation, fits, "slices of the operand, one for each start")


def _verify_scatter(operation: Operation) -> None:
    count = len(operation.results)
    operands, updates = operation.operands[:count], operation.operands[count + 1 :]
    fits = (
        _get_types(operands) == _get_types(operation.results)
        and len(updates) == count
        and len(set(_get_shapes(operands))) == 1
        and len(set(_get_shapes(updates))) == 1
    )
    _require(operation, fits, "operands of one shape, updates of one shape")
    numbers = operation.attributes["scatter_dimension_numbers"]
    shape, starts = updates[0].type.shape, operation.operands[count].type.shape
    window, vector = numbers["update_window_dims"], numbers["index_vector_dim"]
    batch = [size for axis, size in enumerate(shape) if axis not in window]
    skipped = {*numbers["inserted_window_dims"], *numbers["input_batching_dims"]}
    whole = [size for axis, size in enumerate(operands[0].type.shape) if axis not in skipped]
    fits = (
        batch == [size for axis, size in enumerate(starts) if axis != vector]
        and len(window) == len(whole)
        and all(shape[axis] <= size for axis, size in zip(window, whole, strict=True))
    )
    _require(operation, fits, "updates of a part of the operand, one for each index")
    _require_scalar_region(operation, operation.regions[0], 2 * count, count)


def _verify_map(operation: Operation) -> None:
    _verify_same_shapes(operation)
    _require_scalar_region(
        operation, operation.regions[0], len(operation.operands), len(operation.results)
    )


def _verify_branches(operation: Operation) -> None:
    fits = not operation.operands[0].type.shape and all(
        not each.arguments and _get_types(each.returned) == _get_types(operation.results)
        for each in operation.regions
    )
    _require(operation, fits, "branches that return the results' types")


def _verify_while(operation: Operation) -> None:
    state = _get_types(operation.operands)
    condition, body = operation.regions
    fits = (
        state == _get_types(operation.results)
        and all(_get_types(each.arguments) == state for each in operation.regions)
        and _get_types(body.returned) == state
        and len(condition.returned) == 1
        and not condition.returned[0].type.shape
    )
    _require(operation, fits, "a state with constant types, and a scalar condition")


def _verify_square(operation: Operation) -> None:
    shape = operation.operands[0].type.shape
    fits = len(shape) >= 2 and shape[-1] == shape[-2]
    _require(operation, fits and operation.results[0].type.shape == shape, "square matrices")


def _verify_triangular_solve(operation: Operation) -> None:
    (a, b), (result,) = _get_shapes(operation.operands), _get_shapes(operation.results)
    size = b[-2] if operation.attributes["left_side"] else b[-1]
    fits = b == result and a == (*b[:-2], size, size)
    _require(operation, fits, "square matrices, and right-hand sides of their size")


def _verify_fused(operation: Operation) -> None:
    """Require that the region returns the results' types.

    The result of `attention` may have another shape of the same size.
    """
    returned = _get_types(operation.regions[0].returned)
    results = _get_types(operation.results)
    moved = operation.name == "attention"
    fits = [each.size for each in returned] == [each.size for each in results]
    fits = fits and [each.element for each in returned] == [each.element for each in results]
    _require(operation, fits and (moved or returned == results), "the region's results")


def _verify_iota(operation: Operation) -> None:
    shape = operation.results[0].type.shape
    fits = 0 <= operation.attributes["iota_dimension"] < len(shape)
    _require(operation, fits, "an axis of the result")


def _verify_constant(operation: Operation) -> None:
    shape = operation.attributes["value"].shape
    _require(operation, shape == operation.results[0].type.shape, "a value of the result's shape")


def _verify_batch_norm_inference(operation: Operation) -> None:
    operand, *of_features = _get_shapes(operation.operands)
    size = (operand[operation.attributes["feature_index"]],)
    fits = operation.results[0].type.shape == operand and all(one == size for one in of_features)
    _require(operation, fits, "a number for each feature")


def _verify_bitcast_convert(operation: Operation) -> None:
    (operand,), (result,) = _get_types(operation.operands), _get_types(operation.results)
    # Narrow elements take a byte in memory, but here their bits count.
    fits = operand.element.bits * prod(operand.shape) == result.element.bits * prod(result.shape)
    _require(operation, fits, "as many bits as before")


_RULES: dict[str, Callable[[Operation], None]] = {
    "attention": _verify_fused,
    "batch_norm_inference": _verify_batch_norm_inference,
    "bitcast_convert": _verify_bitcast_convert,
    "broadcast": _verify_broadcast,
    "broadcast_in_dim": _verify_broadcast_in_dim,
    "case": _verify_branches,
    "cholesky": _verify_square,
    "concatenate": _verify_concatenate,
    "constant": _verify_constant,
    "convolution": _verify_convolution,
    "counted_loop": _verify_counted_loop,
    "dot_general": _verify_dot_general,
    "dynamic_slice": _verify_dynamic_slice,
    "dynamic_update_slice": _verify_dynamic_update_slice,
    "gather": _verify_gather,
    "if": _verify_branches,
    "iota": _verify_iota,
    "map": _verify_map,
    "optimization_barrier": _verify_barrier,
    "pack_panels": _verify_pack_panels,
    "packed_product": _verify_packed_product,
    "pad": _verify_pad,
    "reduce": _verify_reduce,
    "reduce_window": _verify_reduce_window,
    "reshape": _verify_reshape,
    "reverse": _verify_same_shapes,
    "row_product": _verify_fused,
    "rows": _verify_fused,
    "scatter": _verify_scatter,
    "select_and_scatter": _verify_select_and_scatter,
    "slice": _verify_slice,
    "sort": _verify_sort,
    "transpose": _verify_transpose,
    "triangular_solve": _verify_triangular_solve,
    "while": _verify_while,
}
