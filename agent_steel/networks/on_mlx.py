"""Networks of MLX: record and exchange calls of MLX's functions while a network runs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from time import perf_counter
from types import ModuleType
from typing import Any

import mlx.core as mx
import numpy as np
from mlx.nn.layers.base import Module

from agent_steel.networks.operation import (
    LEAST_PASSES,
    MOST_PASSES,
    SEED,
    ArrayType,
    KernelCall,
    Operation,
    OperationRecord,
    Placements,
    Run,
    Values,
)
from metalbench.errors import MetalBenchError, TaskError
from metalbench.kernelbench.pytorch.module import ModuleSource, several
from metalbench.mlx.call import NoValue, as_numpy, to_mlx
from metalbench.reference.mlx_function import trace

# The names of arguments, for functions in C++ that rules know; those of others are x0, x1, ...
PARAMETERS: dict[str, tuple[str, ...]] = {
    "softmax": ("a", "axis"),
    "logsumexp": ("a", "axis", "keepdims"),
    "argmax": ("a", "axis", "keepdims"),
    "argmin": ("a", "axis", "keepdims"),
    "cumsum": ("a", "axis", "reverse", "inclusive"),
    "cumprod": ("a", "axis", "reverse", "inclusive"),
    "addmm": ("c", "a", "b", "alpha", "beta"),
    "layer_norm": ("x", "weight", "bias", "eps"),
    "rms_norm": ("x", "weight", "eps"),
    "scaled_dot_product_attention": ("q", "k", "v"),
    "conv2d": ("x", "weight", "stride", "padding", "dilation", "groups"),
    "take": ("a", "indices", "axis"),
    "clip": ("a", "a_min", "a_max"),
}
# Operators of arrays, by the function that does the same.
OPERATORS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "subtract",
    "__rsub__": "rsubtract",
    "__mul__": "multiply",
    "__rmul__": "multiply",
    "__truediv__": "divide",
    "__rtruediv__": "rdivide",
    "__matmul__": "matmul",
    "__pow__": "power",
    "__neg__": "negative",
    "__getitem__": "getitem",
}
# Functions that compute nothing of a network, or that take functions.
LEFT_OUT = frozenset((
    "eval", "async_eval", "compile", "grad", "value_and_grad", "vjp", "jvp", "vmap", "checkpoint",
    "save", "savez", "savez_compressed", "save_safetensors", "save_gguf", "load", "synchronize",
    "export_function", "exporter", "import_function", "export_to_dot", "depends", "disable_compile",
    "enable_compile", "stop_gradient", "item", "tolist",
))  # fmt: skip


@dataclass(frozen=True)
class HookedFunction:
    """A function of MLX: its name, and the names and defaults of its arguments as far as known."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, function: Any) -> HookedFunction:
        """Return a function with the arguments of its signature, or of PARAMETERS."""
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return cls(name, function, PARAMETERS.get(name, ()))
        empty = inspect.Parameter.empty
        defaults = {key: each.default for key, each in parameters.items()}
        known = {key: each for key, each in defaults.items() if each is not empty}
        return cls(name, function, tuple(parameters), known)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, defaults last."""
        names = (*self.parameters, *(f"x{place}" for place in range(len(self.parameters), 16)))
        named = {**dict(zip(names, args, strict=False)), **kwargs}
        return {**named, **{key: each for key, each in self.defaults.items() if key not in named}}


Handler = Callable[[HookedFunction, "tuple[Any, ...]", "dict[str, Any]"], Any]


class Hooks:
    """The functions of MLX, each with one that calls a handler in its place.

    Only outermost calls reach the handler.
    """

    def __init__(self) -> None:
        self._handler: Handler | None = None
        # Module or class, the name there, the function, and the one in its place.
        self._places: list[tuple[Any, str, Any, Any]] = []
        self._made: dict[int, Any] = {}
        activations = sys.modules["mlx.nn.layers.activations"]
        for module in (mx, mx.fast):
            for name, function in vars(module).items():
                if type(function).__name__ == "nb_func" and name not in LEFT_OUT:
                    self._add(module, name, name, function)
        self._add_activations(activations)
        for name, function in vars(mx.array).items():
            public = OPERATORS.get(name, "" if name.startswith("_") else name)
            if type(function).__name__ == "nb_method" and public and name not in LEFT_OUT:
                self._add(mx.array, name, public, function)

    def _add_activations(self, activations: ModuleType) -> None:
        """Add the functions of activations, wherever MLX has them, and the layers of them."""
        for name, function in vars(activations).items():
            is_own = getattr(function, "__module__", "") == activations.__name__
            if is_own and not isinstance(function, type) and not name.startswith("_"):
                self._add(activations, name, name, function)
        for where, module in list(sys.modules.items()):
            if where.startswith("mlx.nn") and module is not activations:
                for name, function in vars(module).items():
                    if id(function) in self._made:
                        self._add(module, name, name, function)
        for layer in vars(activations).values():
            if isinstance(layer, type) and issubclass(layer, Module):
                self._add_closure(layer)

    def _add(self, place: Any, attribute: str, name: str, function: Any) -> None:
        if id(function) not in self._made:
            self._made[id(function)] = self._wrap(HookedFunction.of(name, function))
        self._places.append((place, attribute, function, self._made[id(function)]))

    def _add_closure(self, layer: Any) -> None:
        """Add the `__call__` of a layer that has the function of an activation in a closure."""
        for cell in getattr(layer.__call__, "__closure__", None) or ():
            made = self._made.get(id(cell.cell_contents))
            if made is not None:

                def call(_: Any, x: Any, made: Any = made) -> Any:
                    return made(x)

                call.__name__ = made.__name__
                self._places.append((layer, "__call__", layer.__call__, call))

    def _wrap(self, hooked: HookedFunction) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            handler = self._handler
            if handler is None:
                return hooked.function(*args, **kwargs)
            self._handler = None
            try:
                return handler(hooked, args, kwargs)
            finally:
                self._handler = handler

        call.__name__ = hooked.name
        return call

    @contextmanager
    def install(
        self, handler: Handler | None, names: frozenset[str] | None = None
    ) -> Iterator[None]:
        """Replace the functions, those of `names` or all, inside this context."""
        places = [each for each in self._places if names is None or each[3].__name__ in names]
        for place, attribute, _, made in places:
            setattr(place, attribute, made)
        self._handler = handler
        try:
            yield
        finally:
            self._handler = None
            for place, attribute, function, _ in places:
                setattr(place, attribute, function)


@cache
def find_hooks() -> Hooks:
    """Return the hooks of MLX's functions; they are made once."""
    return Hooks()


class MlxNetwork:
    """A module of MLX with its inputs."""

    def __init__(self, source: ModuleSource, model: Any, arguments: Sequence[Any]) -> None:
        self._source = source
        self._model = model
        self._arguments = list(arguments)
        mx.eval(model.parameters(), self._arguments)

    @property
    def framework(self) -> str:
        """The name and version of the framework, and its device."""
        device = "gpu" if mx.default_device() == mx.Device(mx.gpu) else "cpu"
        return f"MLX {version('mlx')} ({device})"

    def run(self) -> Any:
        """Run one pass as the file has it."""
        found = self._source.call_user_code("__call__", lambda: self._model(*self._arguments))
        mx.eval(found)
        return found

    def record(self, seconds: float) -> list[OperationRecord]:
        """Return the operations of a pass, timed one by one in several passes.

        Functions of the file under `mx.compile` are recorded operation by operation.
        """
        recorder = _Recorder()
        mx.disable_compile()
        try:
            with find_hooks().install(recorder):
                self.run()  # warm up
                recorder.times.clear()
                end = perf_counter() + seconds
                for passes in range(1, MOST_PASSES + 1):
                    recorder.begin_pass()
                    self.run()
                    if passes >= LEAST_PASSES and perf_counter() >= end:
                        break
        finally:
            mx.enable_compile()
        return recorder.finish()

    def place(self, kernels: Placements) -> Run:
        """Return the network with kernels in place of operations.

        An operation in a function under `mx.compile` stays as it is.
        """
        names = frozenset(each.name for each in kernels)
        factories = {(each.name, each.arguments): make for each, make in kernels.items()}
        results = {(each.name, each.arguments): each.results[0] for each in kernels}
        made: dict[Any, KernelCall] = {}

        def handle(hooked: HookedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            named = hooked.bind(args, kwargs)
            key = hooked.name, _describe(named)
            if key not in factories:
                return hooked.function(*args, **kwargs)
            if key not in made:
                made[key] = factories[key]()
            kernel = made[key]
            try:
                arrays = {each: _to_numpy(named[each]) for each in kernel.operands}
            except NoValue:
                return hooked.function(*args, **kwargs)
            result = results[key]
            found = to_mlx(kernel(arrays)).reshape(result.shape)
            return found.astype(getattr(mx, result.dtype))

        def run() -> Any:
            with find_hooks().install(handle, names):
                return self.run()

        return run

    def outputs(self, run: Run) -> list[Values]:
        """Return the outputs of a run with the random seed 0."""
        mx.random.seed(SEED)
        return [_to_numpy(each).copy() for each in several(run()) if isinstance(each, mx.array)]

    def exact_outputs(self) -> list[Values] | None:
        """Return the outputs of the module's graph in float64, by NumPy.

        None if a primitive has no float64 form, and if its results depend on the random seed.
        """
        first = self.outputs(self.run)
        mx.random.seed(SEED + 1)
        second = [_to_numpy(each) for each in several(self.run()) if isinstance(each, mx.array)]
        if not all(map(np.array_equal, first, second)):
            return None
        arrays = [each for each in self._arguments if isinstance(each, mx.array)]

        def forward(*given: mx.array) -> Any:
            left = iter(given)
            return self._model(
                *(next(left) if isinstance(each, mx.array) else each for each in self._arguments)
            )

        try:
            # MLX's own float64 has functions of single precision.
            found = trace(forward, arrays).evaluate(list(map(_to_numpy, arrays)))
        except TaskError:
            return None
        return list(found)


class _Recorder:
    """Handles calls by timing them."""

    def __init__(self) -> None:
        self.records: dict[Operation, OperationRecord] = {}
        self.times: dict[Operation, list[float]] = {}

    def begin_pass(self) -> None:
        for each in self.records.values():
            each.calls = 0

    def __call__(
        self, hooked: HookedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        named = hooked.bind(args, kwargs)
        arrays = [each for each in named.values() if isinstance(each, mx.array)]
        if not arrays:
            return hooked.function(*args, **kwargs)
        mx.eval(arrays)
        # An activation is timed as MLX has it, which is compiled.
        mx.enable_compile()
        begun = perf_counter()
        result = hooked.function(*args, **kwargs)
        results = [each for each in several(result) if isinstance(each, mx.array)]
        mx.eval(results)
        taken = perf_counter() - begun
        mx.disable_compile()
        if results:
            types = tuple(map(_type_of, results))
            operation = Operation(hooked.name, _describe(named), types)
            if operation not in self.records:
                inputs = {
                    name: _to_numpy(each).copy()
                    for name, each in named.items()
                    if isinstance(each, mx.array)
                }
                output = _to_numpy(results[0]).copy()
                self.records[operation] = OperationRecord(operation, inputs=inputs, output=output)
            self.records[operation].calls += 1
            self.times.setdefault(operation, []).append(taken)
        return result

    def finish(self) -> list[OperationRecord]:
        found = [each for each in self.records.values() if each.calls]
        for each in found:
            each.seconds = each.calls * min(self.times[each.operation])
        return found


def _describe(named: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _freeze(each)) for name, each in named.items())


def _freeze(value: Any) -> Any:
    if isinstance(value, mx.array):
        return _type_of(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(_freeze, value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _type_of(array: mx.array) -> ArrayType:
    return ArrayType(tuple(array.shape), str(array.dtype).removeprefix("mlx.core."))


def _to_numpy(array: mx.array) -> Values:
    """Return the values of an array. Raise NoValue for one that a transformation traces."""
    try:
        return as_numpy(array, "model")
    except NoValue:
        raise
    except MetalBenchError:
        return np.array(array)
