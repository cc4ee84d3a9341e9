"""Run a program as compiled by XLA for the CPU, and as its form in MLX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.ir import Block, ElementType, Operation, TensorValue
from metalbench.hlo.operations import OPERATIONS, REDUCERS
from metalbench.mlx import call

Array = np.ndarray[Any, Any]


class XlaProgram:
    """A program compiled by XLA, with arguments in its device's memory."""

    name = "XLA:CPU"

    def __init__(self, text: str | bytes, arrays: Sequence[Array]) -> None:
        jax = _import_jax()
        from jaxlib import _jax as bindings
        from jaxlib import xla_client

        device = jax.devices("cpu")[0]
        self.version = str(jax.lib.__version__)
        try:
            self._compiled = device.client.compile_and_load(
                text, bindings.DeviceList((device,)), xla_client.CompileOptions()
            )
        except (jax.errors.JaxRuntimeError, ValueError, TypeError, AttributeError) as error:
            # The last two come from versions of jaxlib with other bindings.
            raise Unsupported(f"[xla] {str(error).splitlines()[0]}") from error
        self._device = device
        self.load(arrays)

    def load(self, arrays: Sequence[Array]) -> None:
        """Replace the arguments by others of the same shapes and types."""
        jax = _import_jax()
        # Without this JAX would round doubles to float.
        with jax.enable_x64(True):
            self._given = [jax.device_put(each, self._device) for each in arrays]

    def compute_results(self) -> list[Array]:
        """Return the results."""
        found = self._compiled.execute_sharded(self._given)
        return [np.asarray(each[0]) for each in found.disassemble_into_single_device_arrays()]

    def __call__(self, times: int) -> None:
        """Run the program `times` times to completion."""
        for _ in range(times):
            found = self._compiled.execute_sharded(self._given)
            for each in found.disassemble_into_single_device_arrays():
                each[0].block_until_ready()


def _import_jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise Unsupported(f"[xla] {error}; install it: pip install 'metalbench[jax]'") from error
    return jax


# Evaluate a graph with MLX, if MLX has all of its operations.

_COMPARISONS: dict[str, Callable[..., Any]] = {
    "EQ": mx.equal,
    "NE": mx.not_equal,
    "GE": mx.greater_equal,
    "GT": mx.greater,
    "LE": mx.less_equal,
    "LT": mx.less,
}
# A function of an operation and MLX's arrays of its operands.
Form = Callable[[Operation, list[Any]], Any]


class MlxProgram:
    """A program compiled by `mx.compile`, with arguments in MLX's memory.

    Raise Unsupported with the operation's name if MLX has no equivalent operation.
    """

    name = "MLX"
    version = metadata.version("mlx")

    def __init__(self, block: Block, given: Sequence[Array]) -> None:
        self._given = [call.to_mlx(each) for each in given]
        self._compiled = mx.compile(create_mlx_function(block))
        mx.eval(self._given)

    def compute_results(self) -> list[Array]:
        """Return the results."""
        return [call.as_numpy(each, "[mlx] result") for each in self._compiled(*self._given)]

    def __call__(self, times: int) -> None:
        """Run the program `times` times to completion."""
        for _ in range(times):
            mx.eval(self._compiled(*self._given))


def create_mlx_function(block: Block) -> Callable[..., list[Any]]:
    """Return the graph as a function of MLX's arrays; raise Unsupported as `MlxProgram`."""
    for operation in block.operations:
        _find_form(operation)
    return lambda *given: _evaluate(block, given)


def _evaluate(block: Block, given: Sequence[Any]) -> list[Any]:
    known: dict[TensorValue, Any] = dict(zip(block.arguments, given, strict=True))
    for operation in block.operations:
        operands = [known[each] for each in operation.operands]
        known[operation.results[0]] = _find_form(operation)(operation, operands)
    return [known[each] for each in block.returned]


def _find_form(operation: Operation) -> Form:
    """Return the MLX form of an operation. Raise Unsupported if there is none."""
    found = FORMS.get(operation.name)
    fits = len(operation.results) == 1 and all(
        each.type.element.bits < 64
        and not each.type.element.is_narrow
        and not each.type.element.is_small_float
        for each in (*operation.results, *operation.operands)
    )
    if (
        found is None
        or not fits
        or (operation.name == "reduce" and not _is_supported_reduction(operation))
    ):
        raise Unsupported(f"[mlx] {operation.where}: MLX has no equivalent operation")
    return found


def _find_type(element: ElementType) -> Any:
    names = {"i1": "bool_", "bf16": "bfloat16"}
    return getattr(mx, names.get(element.name, element.numpy.name))


def _is_supported_reduction(reduce: Operation) -> bool:
    region = reduce.regions[0]
    initial = reduce.operands[-1].operation
    return (
        len(reduce.operands) == 2
        and len(region.operations) == 1
        and region.operations[0].name in REDUCERS
        and set(region.operations[0].operands) == set(region.arguments)
        and initial is not None
        and initial.name == "constant"
    )


def _apply_reduce(operation: Operation, operands: list[Any]) -> Any:
    (join,) = operation.regions[0].operations
    known = OPERATIONS[join.name]
    reduced = getattr(mx, known.mlx_reduction)(operands[0], axis=operation.attributes["dimensions"])
    return getattr(mx, known.mlx)(reduced, operands[1]).astype(operands[0].dtype)


def _apply_broadcast(operation: Operation, operands: list[Any]) -> Any:
    shape = operation.results[0].type.shape
    places = operation.attributes["broadcast_dimensions"]
    order = sorted(range(len(places)), key=lambda axis: places[axis])
    sizes = [1] * len(shape)
    for axis, place in enumerate(places):
        sizes[place] = operation.operands[0].type.shape[axis]
    return mx.broadcast_to(mx.transpose(operands[0], order).reshape(sizes), shape)


def _apply_dot_general(operation: Operation, operands: list[Any]) -> Any:
    numbers = operation.attributes["dot_dimension_numbers"]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    sides = [[""] * each.ndim for each in operands]
    batch = [next(letters) for _ in numbers["lhs_batching_dimensions"]]
    shared = [next(letters) for _ in numbers["lhs_contracting_dimensions"]]
    rest = []
    for side, name in zip(sides, ("lhs", "rhs"), strict=True):
        for kind, own in (("batching", batch), ("contracting", shared)):
            for axis, letter in zip(numbers[f"{name}_{kind}_dimensions"], own, strict=True):
                side[axis] = letter
        for axis, letter in enumerate(side):
            if not letter:
                side[axis] = next(letters)
                rest.append(side[axis])
    left, right = ("".join(each) for each in sides)
    return mx.einsum(f"{left},{right}->{''.join([*batch, *rest])}", *operands)


def _apply_slice(operation: Operation, operands: list[Any]) -> Any:
    names = ("start_indices", "limit_indices", "strides")
    places = zip(*(operation.attributes[each] for each in names), strict=True)
    return operands[0][tuple(slice(*each) for each in places)]


def _apply_constant(operation: Operation, _: list[Any]) -> Any:
    value = operation.results[0].type
    bits = operation.attributes["value"]
    return call.to_mlx(np.asarray(bits).view(value.element.numpy).reshape(value.shape))


def _apply_iota(operation: Operation, _: list[Any]) -> Any:
    type_, axis = operation.results[0].type, operation.attributes["iota_dimension"]
    sizes = [size if each == axis else 1 for each, size in enumerate(type_.shape)]
    numbers = mx.arange(type_.shape[axis]).reshape(sizes)
    return mx.broadcast_to(numbers, type_.shape).astype(_find_type(type_.element))


def _apply_divide(operation: Operation, operands: list[Any]) -> Any:
    if not operation.results[0].type.element.is_float:
        raise Unsupported(f"[mlx] {operation.where}: MLX divides integers as floats")
    return mx.divide(*operands)


# Operations whose attributes or types affect the MLX form.
_WITH_ATTRIBUTES: dict[str, Form] = {
    "broadcast_in_dim": _apply_broadcast,
    "clamp": lambda _, given: mx.clip(given[1], given[0], given[2]),
    "compare": lambda each, given: _COMPARISONS[each.attributes["comparison_direction"]](*given),
    "concatenate": lambda each, given: mx.concatenate(given, axis=each.attributes["dimension"]),
    "constant": _apply_constant,
    "convert": lambda each, given: given[0].astype(_find_type(each.results[0].type.element)),
    "divide": _apply_divide,
    "dot_general": _apply_dot_general,
    "iota": _apply_iota,
    "optimization_barrier": lambda _, given: given[0],
    "reduce": _apply_reduce,
    "reshape": lambda each, given: given[0].reshape(each.results[0].type.shape),
    "slice": _apply_slice,
    "transpose": lambda each, given: mx.transpose(given[0], each.attributes["permutation"]),
}


def _create_form(name: str) -> Form:
    """Return the form that calls an MLX function on the operands."""
    function = getattr(mx, name)
    return lambda _, given: function(*given)


FORMS: dict[str, Form] = {
    **{name: _create_form(each.mlx) for name, each in OPERATIONS.items() if each.mlx},
    **_WITH_ATTRIBUTES,
}
