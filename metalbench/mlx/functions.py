"""Kernels of the library as functions of MLX arrays, with gradients.

On a Mac the kernels are MLX's own, on the GPU and evaluated lazily. Elsewhere the engine of this
project runs them on the processor at once, because MLX cannot call other code from its graph: the
inputs of a call are evaluated first. Imports MLX, which `import metalbench` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import mlx.core as mx

from metalbench import _core
from metalbench.errors import DispatchError, suggestion
from metalbench.kernel.export import export_kernel
from metalbench.kernel.host_code import plan_host_code, write_mlx_code
from metalbench.kernel.library import Entry, Library
from metalbench.mlx.definition import element_type, mlx_dtype
from metalbench.mlx.kernel import metal_is_available, metal_kernel
from metalbench.task import Task
from metalbench.task.dtypes import DType, dtype

Array = Any


class KernelFunction:
    """A kernel of the library, called with the inputs of its task as MLX arrays.

    Floating inputs have one element type, which selects the build; integers are converted to the
    declared type. `constants` of the task are keyword arguments, by default those of the task. The
    kernel must be one that `metalbench export --host mlx` can write: it updates nothing in place.
    """

    def __init__(self, name: str) -> None:
        self._entry = _find_entry(name)

    @property
    def task(self) -> Task:
        """The task that declares inputs, outputs and constants."""
        return self._entry.task

    def __call__(self, *inputs: Array, **constants: float) -> tuple[Array, ...]:
        """Return the outputs in the order of the task.

        Raise DispatchError for wrong inputs or constants, ValueError for sizes that a limit of the
        kernel excludes.
        """
        run = self._find_run_type(inputs)
        arrays = dict(zip(self.task.inputs, inputs, strict=True))
        for name, given in arrays.items():
            kind = self.task.inputs[name].type_in(run)
            expected = mlx_dtype(element_type(kind.name, f"[{self.task.name}] {name}"))
            if mx.issubdtype(expected, mx.integer) and mx.issubdtype(given.dtype, mx.integer):
                arrays[name] = given.astype(expected)
            elif given.dtype != expected:
                raise DispatchError(
                    f"[{self.task.name}] {name}: expected {expected}, as the first floating input "
                    f"has, got {given.dtype}; use .astype({expected})"
                )
        self._check_shapes(arrays, constants)
        found = _build(self._entry.name, run.name)(**arrays, **constants)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    def _find_run_type(self, inputs: Sequence[Array]) -> DType:
        task = self.task
        if len(inputs) != len(task.inputs):
            raise DispatchError(
                f"[{task.name}] expected the arrays ({', '.join(task.inputs)}), "
                f"got {len(inputs)} arrays"
            )
        for (name, declared), given in zip(task.inputs.items(), inputs, strict=True):
            if declared.dtype is None:
                found = str(given.dtype).rpartition(".")[2]
                if found not in task.dtypes:
                    raise DispatchError(
                        f"[{task.name}] {name}: expected one of {', '.join(task.dtypes)}, "
                        f"got {found}"
                    )
                return dtype(found)
        return dtype(task.dtypes[0])

    def _check_shapes(self, arrays: Mapping[str, Array], constants: Mapping[str, float]) -> None:
        """Raise DispatchError unless the shapes fit the task; kernels do not check them."""
        task = self.task
        for name in constants:
            if name not in task.constants:
                raise DispatchError(
                    f"[{task.name}] no constant {name!r}; {suggestion(name, task.constants)}"
                )
        values = {name: each for name, each in task.constants.items() if isinstance(each, int)}
        values |= {name: int(each) for name, each in constants.items() if name in values}
        names = task.sizes[task.headline]
        for name, declared in task.inputs.items():
            if arrays[name].ndim != len(declared.shape):
                extents = ", ".join(each.text for each in declared.shape)
                raise DispatchError(
                    f"[{task.name}] {name}: expected the dimensions ({extents}), "
                    f"got {arrays[name].shape}"
                )
            for extent, given in zip(declared.shape, arrays[name].shape, strict=True):
                if extent.text in names:
                    values.setdefault(extent.text, given)
        for name, declared in task.inputs.items():
            expected = declared.shape_at(values)
            if tuple(arrays[name].shape) != expected:
                raise DispatchError(
                    f"[{task.name}] {name}: expected {expected}, got {tuple(arrays[name].shape)}"
                )


@cache
def _find_entry(name: str) -> Entry:
    return _open_library().entry(name)


@cache
def _open_library() -> Library:
    return Library()


@cache
def _build(name: str, dtype_name: str) -> Callable[..., Any]:
    """Return the function that `metalbench export --host mlx` writes, over `metal_kernel`."""
    entry = _find_entry(name)
    # Defaults of tunables: those of Apple's GPUs, or of the engine.
    kernel = entry.kernel() if metal_is_available() else entry.kernel(_core.open("cpu"))
    plan = plan_host_code(export_kernel(kernel, dtype_name=dtype_name), entry.task)
    space: dict[str, Any] = {"metal_kernel": metal_kernel}
    # The text comes from the library's own files.
    exec(write_mlx_code(plan, make_kernel="metal_kernel"), space)
    found: Callable[..., Any] = space[name]
    return found


# Forward and backward kernels as differentiable functions.


@dataclass(frozen=True)
class GradientPair:
    """A forward kernel and the kernels of its gradients.

    A backward kernel takes inputs and outputs of the forward kernel by their names, and `dNAME`,
    the gradient of the output NAME. It returns `dNAME` of the input NAME. `names` maps a backward
    kernel's names to those of the forward kernel, where they differ.
    """

    forward: str
    backward: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    def run_backward(
        self,
        known: Mapping[str, Array],
        constants: Mapping[str, float],
    ) -> dict[str, Array]:
        """Return the gradients of inputs by name, from all arrays of the forward pass by name."""
        found: dict[str, Array] = {}
        for name in self.backward:
            function = KernelFunction(name)
            task = function.task
            names = {each: self._forward_name(each) for each in task.inputs}
            kind = next(known[names[each]].dtype for each, a in task.inputs.items() if not a.dtype)
            arrays = []
            for each, declared in task.inputs.items():
                array = known[names[each]]
                # The gradient of a float32 output of a kernel in half precision.
                arrays.append(array.astype(kind) if declared.dtype is None else array)
            own = {each: value for each, value in constants.items() if each in task.constants}
            gradients = function(*arrays, **own)
            for each, gradient in zip(task.outputs, gradients, strict=True):
                found[self._forward_name(each.removeprefix("d"))] = gradient
        return found

    def _forward_name(self, name: str) -> str:
        return self.names.get(name, name)


_NORM_NAMES = {"g": "dy", "w": "weight", "b": "bias"}
PAIRS = {
    "attention": GradientPair("sdpa_bidirectional_lse", ("sdpa_bidirectional_gradient",)),
    "causal_attention": GradientPair("sdpa_causal_lse", ("sdpa_causal_gradient",)),
    "rms_norm": GradientPair("rms_norm_weight", ("rms_norm_gradient",), _NORM_NAMES),
    "layer_norm": GradientPair("layer_norm_affine", ("layer_norm_gradient",), _NORM_NAMES),
    "swiglu": GradientPair("silu_gate", ("swiglu_gradient",), {"gate": "a", "up": "b"}),
    "cross_entropy": GradientPair("cross_entropy_loss", ("cross_entropy_gradient",)),
    "linear_cross_entropy": GradientPair(
        "linear_cross_entropy", ("linear_cross_entropy_gradient",)
    ),
    "rope": GradientPair("rope_half", ("rope_half_gradient",)),
    "embedding": GradientPair("embedding", ("embedding_gradient",)),
    "conv2d": GradientPair("conv2d", ("conv2d_input_gradient", "conv2d_weight_gradient")),
}


def differentiate(name: str, *inputs: Array, **constants: float) -> tuple[Array, ...]:
    """Return the outputs of the forward kernel of PAIRS[name], as a function that has gradients.

    Constants go to the kernels that have them. Gradients of gradients are not defined.
    """
    return tuple(_differentiable(name, tuple(sorted(constants.items())))(*inputs))


@cache
def _differentiable(name: str, constants: tuple[tuple[str, float], ...]) -> Callable[..., Any]:
    pair, values = PAIRS[name], dict(constants)
    forward = KernelFunction(pair.forward)
    task = forward.task
    own = {each: value for each, value in values.items() if each in task.constants}

    @mx.custom_function
    def function(*inputs: Array) -> list[Array]:
        return list(forward(*inputs, **own))

    @function.vjp
    def backward(primals: Any, cotangents: Any, outputs: Any) -> Any:
        # MLX hands a single array over without a list.
        known = dict(zip(task.inputs, _as_list(primals), strict=True))
        known |= zip(task.outputs, _as_list(outputs), strict=True)
        known |= {
            f"d{output}": each
            for output, each in zip(task.outputs, _as_list(cotangents), strict=True)
        }
        found = pair.run_backward(known, values)
        return tuple(
            found[each] if each in found else mx.zeros_like(known[each]) for each in task.inputs
        )

    typed: Callable[..., Any] = function
    return typed


def _as_list(arrays: Any) -> list[Array]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


# The public functions: any number of leading dimensions.


def attention(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """Return softmax(q k^T / sqrt(dims)) v, with flash attention's gradient.

    `q` is (batch, heads, tokens, dims); `k` and `v` are (batch, kv_heads, tokens, dims), where
    kv_heads divides heads; dims is at most 128. With `causal`, token i attends to tokens 0 to i.
    """
    for name, each in (("q", q), ("k", k), ("v", v)):
        if each.ndim != 4:
            raise DispatchError(
                f"[attention] {name}: expected (batch, heads, tokens, dims), got {each.shape}"
            )
    _check_shape("attention", "k", k, (q.shape[0], k.shape[1], *q.shape[2:]))
    _check_shape("attention", "v", v, k.shape)
    pair = "causal_attention" if causal else "attention"
    flat = (each.reshape(-1, *each.shape[2:]) for each in (q, k, v))
    return differentiate(pair, *flat)[0].reshape(q.shape)


def rms_norm(x: Array, weight: Array, eps: float = 1e-5) -> Array:
    """Return rows of `x` (..., cols) over their root mean square, times `weight` (cols)."""
    return differentiate("rms_norm", _rows(x), weight, eps=eps)[0].reshape(x.shape)


def layer_norm(x: Array, weight: Array, bias: Array, eps: float = 1e-5) -> Array:
    """Return normalised rows of `x` (..., cols), times `weight` plus `bias` (cols)."""
    return differentiate("layer_norm", _rows(x), weight, bias, eps=eps)[0].reshape(x.shape)


def swiglu(gate: Array, up: Array) -> Array:
    """Return silu(gate) up, for arrays of one shape (..., cols)."""
    _check_shape("swiglu", "up", up, gate.shape)
    return differentiate("swiglu", _rows(gate), _rows(up))[0].reshape(gate.shape)


def cross_entropy(logits: Array, target: Array) -> Array:
    """Return the cross entropy (...) of `logits` (..., classes) with classes `target` (...)."""
    _check_shape("cross_entropy", "target", target, logits.shape[:-1])
    loss = differentiate("cross_entropy", _rows(logits), target.reshape(-1))[0]
    return loss.reshape(target.shape)


def linear_cross_entropy(hidden: Array, weight: Array, target: Array) -> Array:
    """Return the cross entropy (...), float32, of the logits hidden weight^T.

    `hidden` is (..., dims), `weight` (classes, dims), `target` (...). The logits, and in the
    gradient theirs, are never all in memory.
    """
    _check_shape("linear_cross_entropy", "target", target, hidden.shape[:-1])
    loss = differentiate("linear_cross_entropy", _rows(hidden), weight, target.reshape(-1))[0]
    return loss.reshape(target.shape)


def rope(x: Array, *, base: float = 10000.0, offset: int = 0) -> Array:
    """Return `x` (..., tokens, dims) with columns i and i + dims / 2 turned by their position.

    The angle of token t is (offset + t) base^(-2i / dims), as in `mx.fast.rope` with
    `traditional=False`. dims is a multiple of four.
    """
    if x.ndim < 2 or x.shape[-1] % 4:
        raise DispatchError(
            f"[rope] x: expected (..., tokens, dims) with dims a multiple of 4, got {x.shape}"
        )
    flat = x.reshape(-1, *x.shape[-2:])
    return differentiate("rope", flat, base=float(base), offset=offset)[0].reshape(x.shape)


def embedding(token: Array, table: Array) -> Array:
    """Return rows (..., dims) of `table` (vocabulary, dims) by `token` (...)."""
    rows = differentiate("embedding", token.reshape(-1), table, vocabulary=table.shape[0])[0]
    return rows.reshape(*token.shape, table.shape[1])


def conv2d(x: Array, w: Array) -> Array:
    """Return the 3 x 3 convolution of `x` (batch, height, width, channels), without padding.

    `w` is (filters, 3, 3, channels); the result is (batch, height - 2, width - 2, filters).
    """
    return differentiate("conv2d", x, w)[0]


def _check_shape(where: str, name: str, array: Array, expected: Sequence[int]) -> None:
    if tuple(array.shape) != tuple(expected):
        raise DispatchError(
            f"[{where}] {name}: expected {tuple(expected)}, got {tuple(array.shape)}"
        )


def _rows(x: Array) -> Array:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
