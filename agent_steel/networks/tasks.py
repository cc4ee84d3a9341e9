"""Which task of the library an operation of a network is, at which size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from agent_steel.networks.operation import ArrayType, Operation, Values
from metalbench.errors import MetalBenchError
from metalbench.kernel.header import Kernel, TargetDevice
from metalbench.kernel.library import Entry, Library
from metalbench.mlx.call import as_numpy, to_mlx
from metalbench.task import Task
from metalbench.task.declaration import spell_size
from metalbench.task.dtypes import FLOATS, dtype

UNKNOWN = "the library has no task for this operation"
# The results of an operation and of its task differ by rounding only.
ALIKE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class TaskMatch:
    """A task that computes what an operation computes.

    `extents` is its size. `operands` has the argument of the operation for each input of the task;
    those in `transposed` have their last two axes exchanged. `constants` are those that the
    operation has, which must be those of the task. With `channels_first` the arrays and the result
    of the operation have their channels in axis 1, where tasks have them last. `padding` is the
    number of zeros on each side of both extents of an image, which the task does not add.
    """

    task: str
    extents: Mapping[str, int]
    operands: Mapping[str, str]
    transposed: frozenset[str] = frozenset()
    constants: Mapping[str, float] = field(default_factory=dict)
    channels_first: bool = False
    padding: int = 0

    def arrange(
        self, task: Task, arrays: Mapping[str, Values], dtype_name: str
    ) -> dict[str, Values]:
        """Return the inputs of the task from the arguments of the operation, by name."""
        values, run = {**task.constants, **self.extents}, dtype(dtype_name)
        whole = {name: each for name, each in values.items() if isinstance(each, int)}
        found = {}
        for name, argument in self.operands.items():
            array = arrays[argument]
            if name in self.transposed:
                array = array.swapaxes(-1, -2)
            if self.channels_first:
                array = np.moveaxis(array, 1, -1)
            if self.padding and name == "x":
                sides = (self.padding, self.padding)
                array = np.pad(array, ((0, 0), sides, sides, (0, 0)))
            declared = task.inputs[name]
            array = array.reshape(declared.shape_at(whole))
            found[name] = array.astype(declared.type_in(run).numpy, copy=False)
        return found

    def restore(self, result: Values) -> Values:
        """Return a result of the task with the axes of the operation's."""
        return np.moveaxis(result, -1, 1) if self.channels_first else result


Rule = Callable[[Operation], "TaskMatch | str"]


def _rows(task: str, **accepted: Any) -> Rule:
    """Return the rule of a task over (rows, cols), elementwise or along the last axis.

    `accepted` are the values of options; None of an option that may have any value.
    """

    def rule(operation: Operation) -> TaskMatch | str:
        arrays = operation.arrays
        if len(arrays) != 1:
            return f"expected one array, got {len(arrays)}"
        (name, x) = next(iter(arrays.items()))
        wrong = _find_other_option(operation, accepted)
        return wrong or TaskMatch(task, _as_rows(x), {"x": name})

    return rule


def _along_last(task: str, **accepted: Any) -> Rule:
    """Return the rule of a task along the last axis of (rows, cols)."""
    inner = _rows(task, dim=None, axis=None, **accepted)

    def rule(operation: Operation) -> TaskMatch | str:
        axis = operation.options.get("dim", operation.options.get("axis"))
        if isinstance(axis, tuple) and len(axis) == 1:
            (axis,) = axis
        first = next(iter(operation.arrays.values()), None)
        if first is not None and axis not in (-1, len(first.shape) - 1):
            return f"the task works along the last axis, not along {axis}"
        return inner(operation)

    return rule


def _pair(task: str, first: str = "a", second: str = "b", broadcast: str = "") -> Rule:
    """Return the rule of an elementwise task of two arrays of one shape.

    `broadcast` is the task for a second array that is one row.
    """

    def rule(operation: Operation) -> TaskMatch | str:
        arrays = list(operation.arrays.items())
        if len(arrays) != 2:
            return "the task takes two arrays, and this is a number"
        wrong = _find_other_option(operation, {"alpha": 1})
        if wrong:
            return wrong
        (one, a), (other, b) = arrays
        if a.shape == b.shape:
            return TaskMatch(task, _as_rows(a), {first: one, second: other})
        if broadcast and b.shape == a.shape[-1:]:
            return TaskMatch(broadcast, _as_rows(a), {"x": one, "bias": other})
        return f"the task takes arrays of one shape, not {a} and {b}"

    return rule


def _match_linear(operation: Operation) -> TaskMatch | str:
    names = list(operation.arrays)
    x, w = list(operation.arrays.values())[:2]
    rows, inner, features = math.prod(x.shape[:-1]), x.shape[-1], w.shape[0]
    if len(names) == 2:
        extents = {"rows": rows, "inner": inner, "features": features}
        return TaskMatch("linear_xwt", extents, {"x": names[0], "w": names[1]})
    extents = {"rows": rows, "inputs": inner, "outputs": features}
    operands = {"x": names[0], "w": names[1], "bias": names[2]}
    return TaskMatch("linear_bias", extents, operands, frozenset({"w"}))


def _match_addmm(operation: Operation) -> TaskMatch | str:
    wrong = _find_other_option(operation, {"alpha": 1, "beta": 1})
    if wrong:
        return wrong
    names = list(operation.arrays)
    c, a, b = operation.arrays.values()
    if len(c.shape) != 1 or len(b.shape) != 2:
        return "the task adds one row of numbers to a product with one matrix"
    extents = {"rows": math.prod(a.shape[:-1]), "inputs": a.shape[-1], "outputs": b.shape[-1]}
    return TaskMatch("linear_bias", extents, {"bias": names[0], "x": names[1], "w": names[2]})


def _match_matmul(operation: Operation) -> TaskMatch | str:
    names = list(operation.arrays)
    if len(names) != 2:
        return UNKNOWN
    a, b = operation.arrays.values()
    operands = {"a": names[0], "b": names[1]}
    if len(b.shape) == 2 and len(a.shape) >= 2:
        extents = {"m": math.prod(a.shape[:-1]), "k": a.shape[-1], "n": b.shape[-1]}
        return TaskMatch("rect_mm", extents, operands)
    if len(a.shape) >= 3 and a.shape[:-2] == b.shape[:-2]:
        extents = {
            "batch": math.prod(a.shape[:-2]),
            "m": a.shape[-2],
            "k": a.shape[-1],
            "n": b.shape[-1],
        }
        return TaskMatch("batch_mm", extents, operands)
    return f"the tasks are products with one matrix or of equal batches, not of {a} and {b}"


def _match_norm(plain: str, affine: str) -> Rule:
    """Return the rule of a norm along the last axis; `affine` is the one with learned arrays."""

    def rule(operation: Operation) -> TaskMatch | str:
        options, names = operation.options, list(operation.arrays)
        x = next(iter(operation.arrays.values()))
        over = options.get("normalized_shape", x.shape[-1:])
        if over != x.shape[-1:]:
            return f"the task works along the last axis, not over {over}"
        wrong = _find_other_option(
            operation, {"eps": None, "normalized_shape": None, "cudnn_enable": None}
        )
        eps = options.get("eps")
        if wrong or eps is None:
            return wrong or "the task has a fixed eps, and PyTorch's default depends on the type"
        constants = {"eps": float(eps)}
        inputs = ("x", "weight", "bias")
        if len(names) == 1:
            return TaskMatch(plain, _as_rows(x), {"x": names[0]}, constants=constants)
        expected = 3 if affine == "layer_norm_affine" else 2
        if len(names) != expected:
            return f"the task takes {expected} arrays, not {len(names)}"
        operands = dict(zip(inputs, names, strict=False))
        return TaskMatch(affine, _as_rows(x), operands, constants=constants)

    return rule


def _match_attention(operation: Operation) -> TaskMatch | str:
    options, names = operation.options, list(operation.arrays)
    if len(names) != 3:
        return "the tasks have no mask but the causal one"
    q, k, v = operation.arrays.values()
    causal = bool(options.get("is_causal")) or options.get("mask") == "causal"
    accepted = {"is_causal": None, "scale": None, "mask": "causal", "enable_gqa": None}
    wrong = _find_other_option(operation, {**accepted, "dropout_p": 0.0})
    if wrong:
        return wrong
    if len(q.shape) != 4 or k.shape != v.shape or q.shape[-2] != k.shape[-2]:
        return f"the task takes as many queries as keys, not {q} and {k}"
    scale = options.get("scale")
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(q.shape[-1]), rel_tol=1e-6):
        return f"the task's scale is 1 / sqrt(dims), not {scale:.3g}"
    # A batch is more heads: those of one group of queries stay together.
    extents = {
        "heads": q.shape[0] * q.shape[1],
        "kv_heads": k.shape[0] * k.shape[1],
        "tokens": q.shape[2],
        "dims": q.shape[3],
    }
    task = "sdpa_causal" if causal else "sdpa_bidirectional"
    return TaskMatch(task, extents, dict(zip("qkv", names, strict=True)))


def _match_conv2d(operation: Operation) -> TaskMatch | str:
    names = list(operation.arrays)
    x, w = list(operation.arrays.values())[:2]
    if len(names) != 2:
        return "the task has no bias"
    is_torch = names[0] == "input"
    if is_torch:
        x, w = (ArrayType(_channels_last(each.shape), each.dtype) for each in (x, w))
    batch, height, width, channels = x.shape
    options = dict(operation.options)
    padding = options.pop("padding", 0)
    if isinstance(padding, tuple) and len(set(padding)) == 1:
        padding = padding[0]
    if not isinstance(padding, int):
        return f"the task does not have padding = {padding}"
    is_depthwise = options.get("groups", 1) == channels > 1 and w.shape == (channels, 3, 3, 1)
    ones = {"stride": 1, "dilation": 1, "groups": channels if is_depthwise else 1}
    for name, expected in ones.items():
        got = options.get(name, expected)
        if got not in (expected, (expected, expected)):
            return f"the task does not have {name} = {got}"
    extents = {
        "batch": batch,
        "height": height + 2 * padding,
        "width": width + 2 * padding,
        "channels": channels,
    }
    operands = {"x": names[0], "w": names[1]}
    if is_depthwise:
        task = "depthwise_conv2d"
    else:
        tasks: dict[tuple[int, ...], str] = {(3, 3): "conv2d", (1, 1): "conv2d_1x1"}
        task = tasks.get(w.shape[1:3], "")
        extents["filters"] = w.shape[0]
        if not task or w.shape[-1] != channels:
            return f"the tasks have filters of 3 by 3 or 1 by 1, not {w}"
    return TaskMatch(task, extents, operands, channels_first=is_torch, padding=padding)


def _channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *shape[2:], shape[1])


def _match_pool(task: str) -> Rule:
    """Return the rule of PyTorch's pools of 2 by 2 pixels that do not overlap."""

    def rule(operation: Operation) -> TaskMatch | str:
        (name, x), *others = operation.arrays.items()
        kernel = operation.options.get("kernel_size")
        stride = operation.options.get("stride") or kernel
        if others or len(x.shape) != 4 or {kernel, stride} - {2, (2,), (2, 2)}:
            return f"the task has windows of 2 by 2, {kernel} with steps of {stride} are others"
        accepted = {
            "kernel_size": None,
            "stride": None,
            "padding": 0,
            "dilation": 1,
            "count_include_pad": None,
        }
        plain = replace(
            operation,
            arguments=tuple(
                (key, 0 if value in ((0,), (0, 0)) else 1 if value in ((1,), (1, 1)) else value)
                for key, value in operation.arguments
            ),
        )
        if wrong := _find_other_option(plain, accepted):
            return wrong
        batch, height, width, channels = _channels_last(x.shape)
        extents = {"batch": batch, "height": height, "width": width, "channels": channels}
        return TaskMatch(task, extents, {"x": name}, channels_first=True)

    return rule


def _match_embedding(operation: Operation) -> TaskMatch | str:
    arrays = operation.arrays
    if len(arrays) != 2:
        return UNKNOWN
    (table, rows), (token, places) = arrays.items()
    if len(rows.shape) != 2 or places.dtype in FLOATS or operation.options.get("axis", 0) != 0:
        return "the task takes rows of a table"
    extents = {
        "tokens": places.elements,
        "vocabulary": rows.shape[0],
        "dims": rows.shape[1],
    }
    return TaskMatch("embedding", extents, {"token": token, "table": table})


def _match_gelu(operation: Operation) -> TaskMatch | str:
    is_tanh = operation.options.get("approximate") == "tanh"
    return _rows("gelu_tanh" if is_tanh else "gelu", approximate=None)(operation)


def _match_clip(operation: Operation) -> TaskMatch | str:
    ends = [each for each in operation.options.values() if each is not None]
    if [float(each) for each in ends if isinstance(each, (int, float))] != [-1.0, 1.0]:
        return "the task's limits are -1 and 1"
    (name, x) = next(iter(operation.arrays.items()))
    return TaskMatch("clip", _as_rows(x), {"x": name})


# Elementwise operations that are called like their task.
SAME_NAMES = (
    "abs", "arcsinh", "arctan", "cos", "erf", "exp", "expm1", "floor", "log", "log1p", "log2",
    "mish", "reciprocal", "relu", "rsqrt", "selu", "sigmoid", "sign", "sin", "sinh", "softsign",
    "sqrt", "square", "tanh",
)  # fmt: skip
# By the names of operations in PyTorch and MLX. Options that a rule does not know mean no task.
RULES: dict[str, Rule] = {
    **{name: _rows(name) for name in SAME_NAMES},
    "silu": _rows("swish"),
    "gelu": _match_gelu,
    "gelu_approx": _rows("gelu_tanh"),
    "hardswish": _rows("hardswish"),
    "hardsigmoid": _rows("hardsigmoid"),
    "log_sigmoid": _rows("logsigmoid"),
    "leaky_relu": _rows("leaky_relu", negative_slope=0.01),
    "elu": _rows("elu", alpha=1.0, scale=1, input_scale=1),
    "softplus": _rows("softplus", beta=1, threshold=20),
    "hardtanh": _rows("hardtanh", min_val=-1, max_val=1),
    "clamp": _match_clip,
    "clip": _match_clip,
    "softmax": _along_last("softmax", precise=None),
    "log_softmax": _along_last("log_softmax"),
    "logsumexp": _along_last("logsumexp"),
    "argmax": _along_last("argmax"),
    "argmin": _along_last("argmin"),
    "cumsum": _along_last("cumsum", inclusive=True),
    "cumprod": _along_last("cumprod", inclusive=True),
    "amax": _along_last("max_rows"),
    "add": _pair("matrix_add", broadcast="bias_add"),
    "div": _pair("divide"),
    "divide": _pair("divide"),
    "maximum": _pair("maximum"),
    "linear": _match_linear,
    "addmm": _match_addmm,
    **dict.fromkeys(("matmul", "mm", "bmm"), _match_matmul),
    "layer_norm": _match_norm("layer_norm", "layer_norm_affine"),
    "rms_norm": _match_norm("rms_norm", "rms_norm_weight"),
    "scaled_dot_product_attention": _match_attention,
    "conv2d": _match_conv2d,
    "max_pool2d": _match_pool("max_pool2d"),
    "avg_pool2d": _match_pool("avg_pool2d"),
    "embedding": _match_embedding,
    "take": _match_embedding,
    "getitem": _match_embedding,
}


def _find_other_option(operation: Operation, accepted: Mapping[str, Any]) -> str:
    """Return which option has a value that a task does not have; '' if none has."""
    for name, value in operation.options.items():
        if value is None or value is False or value == ():
            continue
        if name in accepted and accepted[name] in (None, value):
            continue
        return f"the task does not have {name} = {value}"
    return ""


def _as_rows(x: ArrayType) -> dict[str, int]:
    return {"rows": math.prod(x.shape[:-1]), "cols": x.shape[-1] if x.shape else 1}


@dataclass(frozen=True)
class FoundTask:
    """The entry of the library for an operation, its kernel and its size."""

    match: TaskMatch
    entry: Entry
    kernel: Kernel
    dtype: str
    size: str


def find_task(operation: Operation, library: Library, device: TargetDevice) -> FoundTask | str:
    """Return the task of an operation with its kernel for `device`, or why there is none."""
    rule, arrays = RULES.get(operation.name), operation.arrays
    if rule is None or not arrays or not all(each.elements for each in arrays.values()):
        return UNKNOWN
    match = rule(operation) if len(operation.results) == 1 else "the task has one result"
    if isinstance(match, str):
        return match
    types = {arrays[each].dtype for each in match.operands.values()} & set(FLOATS)
    if len(types) != 1:
        named = ", ".join(sorted(each.dtype for each in arrays.values()))
        return f"kernels take one floating-point type, not {named}"
    (dtype_name,) = types
    entry = library.entry(match.task)
    try:
        return _find_kernel(match, entry, device, dtype_name)
    except MetalBenchError as error:
        return str(error)


def _find_kernel(
    match: TaskMatch, entry: Entry, device: TargetDevice, dtype_name: str
) -> FoundTask | str:
    task, size = entry.task, spell_size(match.extents)
    for name, value in match.constants.items():
        if not math.isclose(task.constants[name], value, rel_tol=1e-6):
            return f"{name} is {value:g}, and {task.constants[name]:g} in the task {task.name}"
    task.check_size(size)
    kernel = entry.kernel(device, dtype=dtype_name)
    if dtype_name not in kernel.dtypes:
        return f"the kernel {entry.name} is not written for {dtype_name}"
    chosen = kernel.resolve_tunables(dtype=dtype_name)
    values = kernel.add_named_sizes({**chosen, **task.values(size)})
    for limit in kernel.limits:
        if violation := limit.find_violation(values):
            return violation
    return FoundTask(match, entry, kernel, dtype_name, size)


def find_difference(found: FoundTask, inputs: Mapping[str, Values], output: Values) -> str:
    """Return how the task's MLX reference differs from an operation's result; '' if it does not.

    `inputs` and `output` are those of a call of the operation.
    """
    task = found.entry.task
    arrays = found.match.arrange(task, inputs, found.dtype)
    inputs = {name: to_mlx(each) for name, each in arrays.items()}
    result = task.reference(**inputs, **task.constants)
    got = found.match.restore(as_numpy(result, task.name)).astype(np.float64).reshape(-1)
    expected = output.astype(np.float64).reshape(-1)
    if got.size != expected.size:
        return f"{task.name} has {got.size} elements of results, not {expected.size}"
    finite = np.isfinite(expected)
    if not np.array_equal(np.isfinite(got), finite):
        return f"{task.name} has other values that are not finite"
    largest = float(np.abs(expected[finite]).max(initial=0.0))
    difference = float(np.abs(got[finite] - expected[finite]).max(initial=0.0))
    if difference > ALIKE[found.dtype] * max(largest, 1e-30):
        return f"{task.name} has other results, by up to {difference:.2g} of {largest:.2g}"
    return ""
