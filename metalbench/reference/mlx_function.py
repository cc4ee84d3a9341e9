"""A function of MLX as a task: its graph, its work, and its exact results.

MLX traces the function to a graph of primitives (`mx.export_function`). NumPy evaluates the graph
in float64: MLX's own float64 has functions of single precision (`exp` is off by 5e-7, `erf` by
5e-4), so it cannot be an oracle. Every float of the graph is then a float64, also where the
function converts to float32 or float16.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import DeclarationError, TaskError, suggestion

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One primitive: its name, its static arguments, and the identifiers of its arrays."""

    primitive: str
    arguments: Sequence[Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class MlxGraph:
    """A traced function. `shapes` and `types` (names such as "float32") are by array."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]
    steps: tuple[Step, ...]
    shapes: Mapping[str, Shape]
    types: Mapping[str, str]

    def flops(self) -> int:
        """Return the operations on elements; movements, conversions and comparisons count as 0."""
        return sum(self._count(each) for each in self.steps)

    def _count(self, step: Step) -> int:
        out = sum(math.prod(self.shapes[each]) for each in step.outputs)
        given = [self.shapes[each] for each in step.inputs]
        if step.primitive in ("Matmul", "AddMM"):
            return 2 * out * given[0][-1]
        if step.primitive == "Convolution":
            return 2 * out * math.prod(given[1][1:])
        if step.primitive in MOVEMENTS:
            return 0
        return max([out, *map(math.prod, given)])

    def evaluate(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """Return the results of NumPy, floats in float64. Raise TaskError for what it lacks."""
        known: dict[str, Any] = dict(self.constants)
        for name, each in zip(self.inputs, arrays, strict=True):
            known[name] = _as_type(each, self.types[name])
        for step in self.steps:
            operation = OPERATIONS.get(step.primitive)
            if operation is None:
                raise TaskError(
                    f"MLX's {step.primitive} has no float64 form here; expected one of the "
                    f"primitives {', '.join(sorted(OPERATIONS))}"
                )
            results = operation(step.arguments, [known[each] for each in step.inputs])
            several = results if isinstance(results, (list, tuple)) else (results,)
            for name, each in zip(step.outputs, several, strict=True):
                known[name] = _as_type(each, self.types[name])
        return tuple(known[each] for each in self.outputs)


def trace(function: Callable[..., Any], examples: Sequence[mx.array]) -> MlxGraph:
    """Trace a function of arrays. Raise TaskError if MLX cannot trace it, or it draws numbers."""
    records: list[dict[str, Any]] = []

    def flat(*arrays: mx.array) -> Any:
        return _flatten(function(*arrays))

    with mx.stream(mx.cpu):
        try:
            mx.export_function(records.append, flat, *examples)
        except Exception as error:  # the user's code: it may raise anything
            said = str(error).strip()
            if "Attempting to eval" in said:
                said = "its flow depends on the values of arrays; expected mx.where in its place"
            raise TaskError(f"{type(error).__name__}: {said}") from error
    shapes: dict[str, Shape] = {}
    types: dict[str, str] = {}
    found: dict[str, Any] = {"constants": {}, "steps": []}

    def add(arrays: Sequence[Any]) -> tuple[str, ...]:
        for name, shape, kind in arrays:
            shapes[name], types[name] = tuple(shape), str(kind).removeprefix("mlx.core.")
        return tuple(each[0] for each in arrays)

    for each in records:
        kind = each["type"]
        if kind in ("inputs", "outputs"):
            found[kind] = add(each[kind])
        elif kind == "constants":
            for name, value in each["constants"]:
                found["constants"][name] = _to_float64(value)
                shapes[name] = tuple(value.shape)
        elif kind == "primitive":
            if each["name"] == "RandomBits":
                raise TaskError("it draws random numbers; take them as an argument")
            found["steps"].append(
                Step(each["name"], each["arguments"], add(each["inputs"]), add(each["outputs"]))
            )
    steps = tuple(found["steps"])
    return MlxGraph(found["inputs"], found["outputs"], found["constants"], steps, shapes, types)


def _flatten(results: Any) -> Any:
    if isinstance(results, mx.array):
        return (results,)
    if not isinstance(results, (tuple, list)) or not results:
        raise DeclarationError(f"expected an array or a tuple of arrays, got {type(results)}")
    return tuple(one for each in results for one in _flatten(each))


def _to_float64(value: mx.array) -> Array:
    if mx.issubdtype(value.dtype, mx.floating):
        return np.array(value.astype(mx.float32)).astype(np.float64)
    return np.array(value)


def _as_type(value: Any, name: str) -> Any:
    """Return a result as MLX's type `name` would be; all floats are float64."""
    is_float = name.startswith(("float", "bfloat"))
    wanted = "float64" if is_float else name.replace("complex64", "complex128")
    return value if value.dtype.name == wanted else value.astype(wanted)


# The primitives in NumPy. Each gets the static arguments and the arrays, and returns one array, or
# a list. NumPy's own functions only, so that a model of rounding errors can follow the arrays.

Operation = Callable[[Sequence[Any], list[Any]], Any]
MOVEMENTS = {
    *("Arange", "AsStrided", "AsType", "Broadcast", "Concatenate", "Contiguous", "Copy", "Equal"),
    *("ExpandDims", "Flatten", "Full", "Gather", "GatherAxis", "Greater", "GreaterEqual", "Less"),
    *("LessEqual", "LogicalAnd", "LogicalNot", "LogicalOr", "NotEqual", "Pad", "Reshape"),
    *("Scatter", "ScatterAxis", "Select", "Slice", "SliceUpdate", "Split", "Squeeze"),
    *("StopGradient", "Transpose", "Unflatten"),
}
_REDUCTIONS = (np.all, np.any, np.sum, np.prod, np.min, np.max)
_SCANS = (np.maximum, np.minimum, np.add, np.multiply)
_BITS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift)
_LOGARITHMS = (np.log2, np.log10, np.log)
# How an update combines with what is there: by MLX's numbers, of Scatter and of ScatterAxis.
_SET = 4
_UPDATES = {0: np.maximum, 1: np.minimum, 2: np.add, 3: np.multiply}


def _unary(function: Callable[[Any], Any]) -> Operation:
    return lambda _, given: function(given[0])


def _binary(function: Callable[[Any, Any], Any]) -> Operation:
    return lambda _, given: function(given[0], given[1])


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _special(name: str) -> Operation:
    def apply(_: Sequence[Any], given: list[Any]) -> Any:
        import scipy.special  # type: ignore[import-untyped,unused-ignore]

        return getattr(scipy.special, name)(given[0])

    return apply


def _reduce(arguments: Sequence[Any], given: list[Any]) -> Any:
    kind, axes = arguments
    return _REDUCTIONS[kind](given[0], axis=tuple(axes), keepdims=True)


def _arg_reduce(arguments: Sequence[Any], given: list[Any]) -> Any:
    kind, axis = arguments
    return (np.argmin, np.argmax)[kind](given[0], axis=axis, keepdims=True)


def _scan(arguments: Sequence[Any], given: list[Any]) -> Any:
    kind, axis, is_reversed, is_inclusive = arguments
    values = np.flip(given[0], axis) if is_reversed else given[0]
    found = _SCANS[kind].accumulate(values, axis=axis)
    if not is_inclusive:
        first = (-np.inf, np.inf, 0, 1)[kind]
        edge = np.full_like(np.take(found, [0], axis=axis), first)
        rest = np.take(found, range(found.shape[axis] - 1), axis=axis)
        found = np.concatenate([edge, rest], axis=axis)
    return np.flip(found, axis) if is_reversed else found


def _softmax(_: Sequence[Any], given: list[Any]) -> Any:
    powers = np.exp(given[0] - np.max(given[0], axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def _log_sum_exp(_: Sequence[Any], given: list[Any]) -> Any:
    largest = np.max(given[0], axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return largest + np.log(np.sum(np.exp(given[0] - largest), axis=-1, keepdims=True))


def _add_product(arguments: Sequence[Any], given: list[Any]) -> Any:
    alpha, beta = arguments
    return alpha * np.matmul(given[0], given[1]) + beta * given[2]


def _convolve(arguments: Sequence[Any], given: list[Any]) -> Any:
    """Convolve (batch, positions..., channels) with (features, window..., channels / groups)."""
    strides, before, after, dilation, spread, groups, flips = arguments
    x, kernel = given
    axes = range(1, x.ndim - 1)
    if any(each != 1 for each in spread):
        shape = [1 + (x.shape[axis] - 1) * spread[axis - 1] for axis in axes]
        wide = np.zeros_like(x, shape=(x.shape[0], *shape, x.shape[-1]))
        wide[(slice(None), *(slice(None, None, each) for each in spread))] = x
        x = wide
    x = np.pad(x, [(0, 0), *zip(before, after, strict=True), (0, 0)])
    window = kernel.shape[1:-1]
    reach = [1 + (size - 1) * step for size, step in zip(window, dilation, strict=True)]
    counts = [1 + (x.shape[axis] - reach[axis - 1]) // strides[axis - 1] for axis in axes]
    features, channels = kernel.shape[0] // groups, kernel.shape[-1]
    parts: list[Any] = []
    for group in range(groups):
        mine = x[..., group * channels : (group + 1) * channels]
        weights = kernel[group * features : (group + 1) * features]
        total: Any = 0.0
        for place in np.ndindex(*window):
            taken = tuple(
                slice(at * step, at * step + stride * (count - 1) + 1, stride)
                for at, step, stride, count in zip(place, dilation, strides, counts, strict=True)
            )
            at = tuple(size - 1 - each for each, size in zip(place, window, strict=True))
            chosen = weights[(slice(None), *(at if flips else place))]
            total = total + np.matmul(mine[(slice(None), *taken)], chosen.T)
        parts.append(total)
    return np.concatenate(parts, axis=-1)


def _slices(starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> Any:
    return tuple(
        # A negative step may end before the first element.
        slice(start, None if step < 0 and stop < 0 else stop, step)
        for start, stop, step in zip(starts, stops, steps, strict=True)
    )


def _update_slice(arguments: Sequence[Any], given: list[Any]) -> Any:
    # In MLX 0.29 the update always replaces, and its kind is missing.
    kind, *bounds = arguments if len(arguments) == 4 else (_SET, *arguments)
    found, place = given[0].copy(), _slices(*bounds)
    found[place] = given[1] if kind == _SET else _UPDATES[kind](found[place], given[1])
    return found


def _split(arguments: Sequence[Any], given: list[Any]) -> Any:
    places, axis = arguments
    return np.split(given[0], list(places), axis=axis)


def _pad(arguments: Sequence[Any], given: list[Any]) -> Any:
    axes, before, after = arguments
    shape = list(given[0].shape)
    for axis, low, high in zip(axes, before, after, strict=True):
        shape[axis] += low + high
    found = np.zeros_like(given[0], shape=shape) + given[1].astype(given[0].dtype)
    place = [slice(None)] * len(shape)
    for axis, low in zip(axes, before, strict=True):
        place[axis] = slice(low, low + given[0].shape[axis])
    found[tuple(place)] = given[0]
    return found


def _check_indices(indices: Any, extent: int) -> Any:
    if indices.size and not (-extent <= indices.min() and indices.max() < extent):
        raise TaskError(f"an index of {int(indices.max())} is outside of {extent} elements")
    if indices.dtype.kind == "u":
        return indices
    return np.where(indices < 0, indices + extent, indices)


def _gather(arguments: Sequence[Any], given: list[Any]) -> Any:
    """Gather slices of a source at indices of some axes; the slice's axes follow the indices'."""
    axes, sizes = arguments
    source, indices = given[0], np.broadcast_arrays(*given[1:])
    place = _window_places(source.shape, axes, sizes, indices)
    return source[place]


def _window_places(
    shape: Shape, axes: Sequence[int], sizes: Sequence[int], indices: Sequence[Any]
) -> tuple[Any, ...]:
    leading = indices[0].ndim if indices else 0
    by_axis = dict(zip(axes, indices, strict=True))
    place = []
    for axis, size in enumerate(sizes):
        offset = np.arange(size).reshape(-1, *[1] * (len(sizes) - 1 - axis))
        if axis in by_axis:
            chosen = _check_indices(by_axis[axis], shape[axis]).astype(np.int64)
            offset = offset + chosen.reshape(*chosen.shape, *[1] * len(sizes))
        place.append(offset.reshape(*[1] * (leading + len(sizes) - offset.ndim), *offset.shape))
    return tuple(place)


def _scatter(arguments: Sequence[Any], given: list[Any]) -> Any:
    kind, axes = arguments
    source, updates = given[0].copy(), given[-1]
    indices = np.broadcast_arrays(*given[1:-1])
    sizes = updates.shape[updates.ndim - source.ndim :]
    place = _window_places(source.shape, axes, sizes, indices)
    if kind == _SET:
        source[place] = updates
    else:
        _UPDATES[kind].at(source, place, updates)
    return source


def _gather_axis(arguments: Sequence[Any], given: list[Any]) -> Any:
    (axis,) = arguments
    chosen = _check_indices(given[1], given[0].shape[axis]).astype(np.int64)
    return np.take_along_axis(given[0], chosen, axis)


def _flatten_axes(arguments: Sequence[Any], given: list[Any]) -> Any:
    first, last = arguments
    shape = given[0].shape
    last += len(shape) if last < 0 else 0
    return given[0].reshape(*shape[:first], -1, *shape[last + 1 :])


def _unflatten(arguments: Sequence[Any], given: list[Any]) -> Any:
    axis, sizes = arguments
    shape = given[0].shape
    return given[0].reshape(*shape[:axis], *sizes, *shape[axis + 1 :])


def _partition(arguments: Sequence[Any], given: list[Any]) -> Any:
    _, axis = arguments
    return np.sort(given[0], axis=axis)


OPERATIONS: dict[str, Operation] = {
    "Abs": _unary(np.abs),
    "Add": _binary(np.add),
    "AddMM": _add_product,
    "Arange": lambda arguments, _: np.arange(*arguments),
    "ArcCos": _unary(np.arccos),
    "ArcCosh": _unary(np.arccosh),
    "ArcSin": _unary(np.arcsin),
    "ArcSinh": _unary(np.arcsinh),
    "ArcTan": _unary(np.arctan),
    "ArcTan2": _binary(np.arctan2),
    "ArcTanh": _unary(np.arctanh),
    "ArgReduce": _arg_reduce,
    "ArgSort": lambda arguments, given: np.argsort(given[0], axis=arguments[0], kind="stable"),
    "AsType": _unary(lambda each: each),
    "BitwiseBinary": lambda arguments, given: _BITS[arguments[0]](given[0], given[1]),
    "Broadcast": lambda arguments, given: np.broadcast_to(given[0], arguments[0]),
    "Ceil": _unary(np.ceil),
    "Concatenate": lambda arguments, given: np.concatenate(given, axis=arguments[0]),
    "Contiguous": _unary(lambda each: each),
    "Convolution": _convolve,
    "Copy": _unary(lambda each: each),
    "Cos": _unary(np.cos),
    "Cosh": _unary(np.cosh),
    "Divide": _binary(np.divide),
    "DivMod": lambda _, given: list(np.divmod(given[0], given[1])),
    "Equal": _binary(np.equal),
    "Erf": _special("erf"),
    "ErfInv": _special("erfinv"),
    "Exp": _unary(np.exp),
    "ExpandDims": lambda arguments, given: np.expand_dims(given[0], tuple(arguments[0])),
    "Expm1": _unary(np.expm1),
    "Flatten": _flatten_axes,
    "Floor": _unary(np.floor),
    "FloorDivide": _binary(np.floor_divide),
    "Full": _unary(lambda each: each),
    "Gather": _gather,
    "GatherAxis": _gather_axis,
    "Greater": _binary(np.greater),
    "GreaterEqual": _binary(np.greater_equal),
    "Less": _binary(np.less),
    "LessEqual": _binary(np.less_equal),
    "Log": lambda arguments, given: _LOGARITHMS[arguments[0]](given[0]),
    "Log1p": _unary(np.log1p),
    "LogAddExp": _binary(np.logaddexp),
    "LogSumExp": _log_sum_exp,
    "LogicalAnd": _binary(np.logical_and),
    "LogicalNot": _unary(np.logical_not),
    "LogicalOr": _binary(np.logical_or),
    "Matmul": _binary(np.matmul),
    "Maximum": _binary(np.maximum),
    "Minimum": _binary(np.minimum),
    "Multiply": _binary(np.multiply),
    "Negative": _unary(np.negative),
    "NotEqual": _binary(np.not_equal),
    "Pad": _pad,
    "Partition": _partition,
    "Power": _binary(np.power),
    "Reduce": _reduce,
    "Remainder": _binary(np.remainder),
    "Reshape": lambda arguments, given: given[0].reshape(arguments[0]),
    "Round": _unary(np.round),
    "Scan": _scan,
    "Scatter": _scatter,
    "Select": lambda _, given: np.where(given[0], given[1], given[2]),
    "Sigmoid": _unary(_sigmoid),
    "Sign": _unary(np.sign),
    "Sin": _unary(np.sin),
    "Sinh": _unary(np.sinh),
    "Slice": lambda arguments, given: given[0][_slices(*arguments)],
    "SliceUpdate": _update_slice,
    "Softmax": _softmax,
    "Sort": lambda arguments, given: np.sort(given[0], axis=arguments[0]),
    "Split": _split,
    "Sqrt": lambda arguments, given: 1 / np.sqrt(given[0]) if arguments[0] else np.sqrt(given[0]),
    "Square": _unary(np.square),
    "Squeeze": lambda arguments, given: np.squeeze(given[0], tuple(arguments[0])),
    "StopGradient": _unary(lambda each: each),
    "Subtract": _binary(np.subtract),
    "Tan": _unary(np.tan),
    "Tanh": _unary(np.tanh),
    "Transpose": lambda arguments, given: np.transpose(given[0], arguments[0]),
    "Unflatten": _unflatten,
}


# The function of a file.


@dataclass
class MlxFunction:
    """The function `name` of the file at `path`. The file is the user's own Python.

    The functions of a task call it: `__call__` with MLX's arrays, and `exact` with NumPy's.
    """

    path: Path
    name: str
    _graphs: dict[tuple[Any, ...], MlxGraph] = field(default_factory=dict)

    @classmethod
    def next_to(cls, task_file: str, file: str, name: str) -> MlxFunction:
        """Return the function `name` of `file` in the folder of a task file."""
        return cls(Path(task_file).parent / file, name)

    @cached_property
    def module(self) -> ModuleType:
        """The imported file; raise TaskError for whatever it raises."""
        name = f"metalbench_functions.{self.path.stem}"
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None or not self.path.is_file():
            raise TaskError(f"{self.path}: expected a Python file, found none")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # the user's code: it may raise anything
            raise TaskError(f"{self.path}: {type(error).__name__}: {error}") from error
        return module

    @property
    def function(self) -> Callable[..., Any]:
        """The function; raise TaskError if the file has none of that name."""
        found = getattr(self.module, self.name, None)
        if not callable(found):
            known = [each for each, value in vars(self.module).items() if callable(value)]
            fault = f"no function {self.name!r}; {suggestion(self.name, known)}"
            raise TaskError(f"{self.path}: {fault}")
        function: Callable[..., Any] = found
        return function

    def __call__(self, *arrays: mx.array) -> Any:
        """Return its results, those of tuples within it one after the other; scalars have 1."""
        results = _flatten(self.function(*arrays))
        return _only([each.reshape(1) if each.ndim == 0 else each for each in results])

    def exact(self, *arrays: Array) -> Any:
        """Return the results in float64 of arrays of floats or integers."""
        graph = self.graph_at([(each.shape, each.dtype.name) for each in arrays])
        try:
            with np.errstate(all="ignore"):
                found = graph.evaluate(arrays)
        except TaskError as error:
            raise TaskError(f"{self.path}, {self.name}: {error}") from None
        return _only([each.reshape(1) if each.ndim == 0 else each for each in found])

    def graph_at(self, arrays: Sequence[tuple[Shape, str]]) -> MlxGraph:
        """Return the graph for arrays of these shapes and types; floats are traced as float32."""
        key = tuple(arrays)
        if key not in self._graphs:
            examples = [
                mx.zeros(shape, getattr(mx, "float32" if "float" in kind else _mlx_name(kind)))
                for shape, kind in arrays
            ]
            try:
                self._graphs[key] = trace(self.function, examples)
            except TaskError as error:
                shapes = ", ".join(str(shape) for shape, _ in arrays)
                raise TaskError(f"{self.path}, {self.name} of {shapes}: {error}") from None
        return self._graphs[key]


def _mlx_name(kind: str) -> str:
    return "bool_" if kind == "bool" else kind


def _only(results: list[Any]) -> Any:
    return tuple(results) if len(results) > 1 else results[0]
