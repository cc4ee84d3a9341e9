"""Declare tasks on quantised weights in any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.blocks import BLOCKS
from metalbench.formats.encodings import MODES, Affine, Mode
from metalbench.formats.inputs import blocks, minifloat, quantised
from metalbench.task import Input, Task, even, heavy_tailed, integers, normal, output, task
from metalbench.task.families import expert_indices

__all__ = [
    "affine",
    "dequantize",
    "embedding",
    "gather_matmul_sorted",
    "gather_matvec",
    "gguf",
    "matmul",
    "matmul_of_few",
    "matmul_without_transpose",
    "matvec",
    "mode",
    "rms_norm_matvec",
]


Sizes = Mapping[str, Mapping[str, int]]
_TYPES = ("float32", "float16", "bfloat16")


class Format:
    """A format of weights: inputs of tasks, exact values, and MLX's operations.

    The attributes `dequantisation` and `multiplication` name MLX's operations.
    """

    dequantisation = "mx.dequantize"
    multiplication = "mx.quantized_matmul"

    def __init__(self, form: Affine | Mode) -> None:
        self._form = form
        self.step = max(32, form.group)
        self.group = form.group
        self.is_affine = isinstance(form, Affine)
        self._mode = form.name if isinstance(form, Mode) else "affine"

    def inputs(self, *dims: str) -> dict[str, Input]:
        """Return the inputs that encode one matrix or several."""
        if isinstance(self._form, Mode):
            return minifloat(*dims, mode=self._form.name)
        return quantised(*dims, format=self._form)

    def values(self, *parts: Any) -> Any:
        """Return the weights in NumPy, in the precision of the scales."""
        return self._form.dequantised(*parts)

    def magnitudes(self, *parts: Any) -> Any:
        """Absolute terms of the weights."""
        if isinstance(self._form, Affine):
            return self._form.magnitudes(*parts)
        return np.abs(self._form.dequantised(*parts))

    def product(
        self, x: Any, w: Any, scales: Any, biases: Any = None, *, transpose: bool = True
    ) -> Any:
        """Return the product of x and the weights, or their transpose, by MLX."""
        return mx.quantized_matmul(
            x,
            w,
            scales,
            biases,
            transpose=transpose,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
        )

    def multiply_gathered(
        self,
        x: Any,
        which: Any,
        w: Any,
        scales: Any,
        biases: Any = None,
        *,
        ordered: bool = False,
    ) -> Any:
        """Return each row of x times the transpose of one matrix of several, by MLX."""
        found = mx.gather_qmm(
            x[:, None],
            w,
            scales,
            biases,
            rhs_indices=which,
            transpose=True,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
            sorted_indices=ordered,
        )
        return found[:, 0]

    def dequantised(self, w: Any, scales: Any, biases: Any = None, *, dtype: Any = None) -> Any:
        """Return the weights dequantised by MLX."""
        return mx.dequantize(
            w,
            scales,
            biases,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
            dtype=dtype,
        )


class BlockFormat(Format):
    """One of BLOCKS. MLX has no operation for it: weights become floats by operations on arrays."""

    dequantisation = "shifts of mx arrays"
    multiplication = "shifts of mx arrays, matmul"

    def __init__(self, name: str) -> None:
        self._blocks = BLOCKS[name]
        self.step = self.group = self._blocks.group
        self.is_affine = False

    def inputs(self, *dims: str) -> dict[str, Input]:
        """Return the input that encodes one matrix or several."""
        return blocks(*dims, format=self._blocks.name)

    def values(self, *parts: Any) -> Any:
        """Return the weights in NumPy, in float64."""
        return self._blocks.dequantised(*parts)

    def magnitudes(self, *parts: Any) -> Any:
        """Absolute terms of the weights."""
        return self._blocks.magnitudes(*parts)

    def dequantised(
        self, w: Any, scales: Any = None, biases: Any = None, *, dtype: Any = mx.float32
    ) -> Any:
        """Return the weights dequantised by MLX in float32, rounded to `dtype`."""
        return self._blocks.dequantised(w, mx, mx.float32).astype(dtype)

    def product(
        self, x: Any, w: Any, scales: Any = None, biases: Any = None, *, transpose: bool = True
    ) -> Any:
        """Return the product of x and the weights, or their transpose, by MLX."""
        weights = self.dequantised(w, dtype=x.dtype)
        return x @ (weights.T if transpose else weights)


def affine(bits: int, group: int = 64) -> Format:
    """Return whole numbers with a scale and a bias a group."""
    return Format(Affine(bits, group))


def mode(name: str) -> Format:
    """Return one of MODES."""
    return Format(MODES[name])


def gguf(name: str) -> Format:
    """Return one of BLOCKS."""
    return BlockFormat(name)


def _with_signature(
    name: str, names: tuple[str, ...], function: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `function` under `name` with the arguments `names`, as `@task` requires."""
    scope: dict[str, Any] = {"function": function}
    given = ", ".join(names)
    exec(f"def {name}({given}): return function({given})", scope)
    made: Callable[..., Any] = scope[name]
    return made


def declare_weight_task(
    name: str,
    form: Format,
    *,
    before: Mapping[str, Input],
    weights: tuple[str, ...],
    y: tuple[str, ...],
    right: Callable[..., Any],
    reference: Callable[..., Any],
    flops: str,
    baseline: str,
    sizes: Sizes,
    gpu_headlines: tuple[str, ...] = ("large",),
    bytes: str | None = None,
) -> Task:
    """Return a task with the inputs `before` and quantised weights of the extents `weights`.

    `right(*before, weights)` computes the result. Exact values of the weights give the expected
    outputs, absolute terms give the scale of errors. `reference(*before, *parts)` is MLX's.
    Columns of `sizes` are rounded up to whole blocks of the format.
    """
    inputs = {**before, **form.inputs(*weights)}
    names, count = tuple(inputs), len(before)

    def oracle(*given: Any) -> Any:
        return right(*given[:count], form.values(*given[count:]))

    def scale(*given: Any) -> Any:
        plain = (np.abs(x) if x.dtype.kind == "f" else x for x in given[:count])
        return right(*plain, form.magnitudes(*given[count:]))

    return task(
        sizes={
            size: {**extents, "cols": -(-extents["cols"] // form.step) * form.step}
            for size, extents in sizes.items()
        },
        gpu_headlines=gpu_headlines,
        inputs=inputs,
        outputs=dict(y=output(*y)),
        oracle=_with_signature("oracle", names, oracle),
        scale=_with_signature("scale", names, scale),
        dtypes=_TYPES,
        flops=flops,
        bytes=bytes,
        baseline=baseline,
        multiples=dict(cols=form.step),
    )(_with_signature(name, names, reference))


# Declare tasks on quantised weights, one function for each operation and any format.

# Rows and columns of matrices; columns are whole groups of 128.
MATRICES = dict(
    small=dict(rows=32, cols=128),
    odd1=dict(rows=37, cols=384),
    odd2=dict(rows=5, cols=1152),
    seed=dict(rows=1024, cols=2048),
    large=dict(rows=14336, cols=4096),
)
PRODUCTS = dict(
    small=dict(batch=8, rows=32, cols=128),
    odd1=dict(batch=5, rows=37, cols=384),
    odd2=dict(batch=37, rows=67, cols=256),
    seed=dict(batch=32, rows=512, cols=1024),
    decode=dict(batch=1, rows=4096, cols=4096),
    few=dict(batch=8, rows=4096, cols=4096),
    large=dict(batch=512, rows=4096, cols=4096),
)
FEW = dict(
    small=dict(batch=4, rows=32, cols=128),
    odd1=dict(batch=5, rows=37, cols=384),
    odd2=dict(batch=16, rows=67, cols=256),
    odd3=dict(batch=2, rows=5, cols=1152),
    odd4=dict(batch=11, rows=3, cols=640),
    seed=dict(batch=8, rows=1024, cols=1024),
    pair=dict(batch=2, rows=4096, cols=4096),
    draft=dict(batch=5, rows=4096, cols=4096),
    most=dict(batch=16, rows=4096, cols=4096),
    large=dict(batch=8, rows=14336, cols=4096),
)
TABLES = dict(
    small=dict(tokens=16, vocabulary=64, cols=128),
    odd1=dict(tokens=37, vocabulary=101, cols=384),
    odd2=dict(tokens=5, vocabulary=67, cols=1152),
    seed=dict(tokens=512, vocabulary=2048, cols=1024),
    large=dict(tokens=8192, vocabulary=32768, cols=4096),
)
MIXTURES = dict(
    small=dict(tokens=4, experts=4, rows=32, cols=128),
    odd1=dict(tokens=7, experts=3, rows=37, cols=384),
    odd2=dict(tokens=3, experts=11, rows=5, cols=1152),
    seed=dict(tokens=8, experts=16, rows=256, cols=1024),
    large=dict(tokens=64, experts=32, rows=2048, cols=2048),
)
PREFILLS = dict(
    small=dict(tokens=16, experts=4, rows=32, cols=128),
    odd1=dict(tokens=111, experts=7, rows=37, cols=384),
    odd2=dict(tokens=75, experts=64, rows=67, cols=256),
    seed=dict(tokens=256, experts=8, rows=256, cols=512),
    large=dict(tokens=4096, experts=32, rows=1024, cols=2048),
)


def dequantize(name: str, form: Format) -> Task:
    """Return the weights themselves: y (rows, cols) in the type of the run."""
    if form.is_affine:
        return declare_weight_task(
            name,
            form,
            before={},
            weights=("rows", "cols"),
            y=("rows", "cols"),
            right=lambda w: w,
            reference=form.dequantised,
            flops="2 * rows * cols",
            baseline="mx.dequantize",
            sizes=MATRICES,
        )
    # Without an array in the type of the run, a factor for every row determines the type.
    return declare_weight_task(
        name,
        form,
        before=dict(row=normal("rows")),
        weights=("rows", "cols"),
        y=("rows", "cols"),
        right=lambda row, w: row[:, None] * w,
        reference=lambda row, *parts: form.dequantised(*parts, dtype=row.dtype) * row[:, None],
        flops="2 * rows * cols",
        baseline=f"{form.dequantisation}, multiply",
        sizes=MATRICES,
    )


def matvec(name: str, form: Format) -> Task:
    """Return a matrix of weights times a vector: y = W x."""
    return declare_weight_task(
        name,
        form,
        before=dict(x=normal("cols")),
        weights=("rows", "cols"),
        y=("rows",),
        right=lambda x, w: w @ x,
        reference=lambda x, *parts: form.product(x[None], *parts)[0],
        flops="2 * rows * cols",
        baseline=form.multiplication,
        sizes=MATRICES,
    )


def matmul(name: str, form: Format, *, sizes: Sizes = PRODUCTS) -> Task:
    """Return a linear layer of weights: y = x W^T."""
    return declare_weight_task(
        name,
        form,
        before=dict(x=normal("batch", "cols")),
        weights=("rows", "cols"),
        y=("batch", "rows"),
        right=lambda x, w: x @ w.T,
        reference=form.product,
        flops="2 * batch * rows * cols",
        baseline=form.multiplication,
        sizes=sizes,
    )


def matmul_of_few(name: str, form: Format) -> Task:
    """Return the task of `matmul` for batches of 2 to 16 rows."""
    return matmul(name, form, sizes=FEW)


def matmul_without_transpose(name: str, form: Format) -> Task:
    """Return the task y = x W, with groups along the columns of y."""
    return declare_weight_task(
        name,
        form,
        before=dict(x=normal("batch", "rows")),
        weights=("rows", "cols"),
        y=("batch", "cols"),
        right=lambda x, w: x @ w,
        reference=partial(form.product, transpose=False),
        flops="2 * batch * rows * cols",
        baseline="mx.quantized_matmul(transpose=False)",
        sizes=PRODUCTS,
    )


def embedding(name: str, form: Format) -> Task:
    """Return rows of a table of weights, chosen by index: y (tokens, cols)."""
    return declare_weight_task(
        name,
        form,
        before=dict(token=integers("tokens", high="vocabulary")),
        weights=("vocabulary", "cols"),
        y=("tokens", "cols"),
        right=lambda token, w: w[token.astype(np.int64)],
        reference=lambda token, *parts: form.dequantised(*(each[token] for each in parts)),
        flops="2 * tokens * cols",
        bytes=f"tokens * (4 + cols * (itemsize + 1) + 2 * cols / {form.group} * itemsize)",
        baseline="take, mx.dequantize",
        sizes=TABLES,
    )


def rms_norm_matvec(name: str, form: Format, *, eps: float = 1e-5) -> Task:
    """Return the task y = W rms_norm(x) of a vector x."""

    def right(x: Any, gain: Any, w: Any) -> Any:
        return w @ (x / np.sqrt(np.mean(x * x) + eps) * gain)

    def reference(x: Any, gain: Any, *parts: Any) -> Any:
        return form.product(mx.fast.rms_norm(x[None], gain, eps), *parts)[0]

    return declare_weight_task(
        name,
        form,
        before=dict(x=normal("cols"), gain=normal("cols", mean=1.0, deviation=0.1)),
        weights=("rows", "cols"),
        y=("rows",),
        right=right,
        reference=reference,
        flops="2 * rows * cols + 4 * cols",
        baseline="mx.fast.rms_norm, mx.quantized_matmul",
        sizes=MATRICES,
    )


def gather_matvec(name: str, form: Format) -> Task:
    """Return each of several vectors times one of several matrices: y = W[expert] x."""
    return declare_weight_task(
        name,
        form,
        before=dict(x=normal("tokens", "cols"), expert=integers("tokens", high="experts")),
        weights=("experts", "rows", "cols"),
        y=("tokens", "rows"),
        right=lambda x, expert, w: np.einsum("trc,tc->tr", w[expert.astype(np.int64)], x),
        reference=form.multiply_gathered,
        flops="2 * tokens * rows * cols",
        baseline="mx.gather_qmm",
        sizes=MIXTURES,
    )


def gather_matmul_sorted(name: str, form: Format) -> Task:
    """Return rows that are sorted by expert times several matrices: y = x W[expert]^T."""

    def right(x: Any, expert: Any, w: Any) -> Any:
        y = np.zeros_like(x, shape=(len(x), w.shape[1]), order="C")
        for e in np.unique(expert):
            y[expert == e] = x[expert == e] @ w[e].T
        return y

    return declare_weight_task(
        name,
        form,
        before=dict(
            x=normal("tokens", "cols"),
            expert=expert_indices("tokens", high="experts", ordered=True),
        ),
        weights=("experts", "rows", "cols"),
        y=("tokens", "rows"),
        right=right,
        reference=partial(form.multiply_gathered, ordered=True),
        flops="2 * tokens * rows * cols",
        baseline="mx.gather_qmm, sorted",
        sizes=PREFILLS,
    )


# Declare tasks that quantise plain rows.

Array = np.ndarray[Any, Any]
GROUP = 64


def quantize(name: str, bits: int) -> Task:
    """Return the task of `mx.quantize`: words (rows, cols * bits / 32), scales and biases.

    Codes are exact: they follow from single-precision arithmetic as in MLX's quantisation.
    """
    form = Affine(bits, GROUP)

    def reference(x: mx.array) -> Any:
        return mx.quantize(x, group_size=GROUP, bits=bits)

    def oracle(x: Array) -> Any:
        return form.quantised(x)

    reference.__name__ = name
    groups = ("rows", f"cols / {GROUP}")
    return task(
        sizes=MATRICES,
        gpu_headlines=("large",),
        inputs=dict(x=normal("rows", "cols")),
        outputs=dict(
            y=output("rows", f"cols * {bits} / 32", dtype="uint32"),
            y_scales=output(*groups),
            y_biases=output(*groups),
        ),
        multiples=dict(cols=GROUP),
        oracle=oracle,
        dtypes=("float32", "float16", "bfloat16"),
        flops="8 * rows * cols",
        bytes=f"rows * cols * (itemsize + {bits} / 8 + 2 * itemsize / {GROUP})",
        baseline="mx.quantize",
    )(reference)


def quantize_small_floats(name: str, mode: str) -> Task:
    """Return the task of `mx.quantize(mode=mode)`: words (rows, cols * bits / 32), scales.

    Codes and scales are exact, as in `Mode.quantised`: ties go to even, as in MLX's Metal kernels.
    MLX on the CPU rounds ties of 4-bit codes to the smaller one, so that it cannot be compared.
    Inputs have no groups of zeros, for which MLX's back ends choose different scales, and no
    infinities or NaN, which these formats cannot represent.
    """
    form = MODES[mode]

    def reference(x: mx.array) -> Any:
        words, scales = mx.quantize(x, mode=mode)[:2]
        return words, scales

    def oracle(x: Array) -> Any:
        return form.quantised(x)

    reference.__name__ = name
    return task(
        sizes=MATRICES,
        gpu_headlines=("large",),
        inputs=dict(x=normal("rows", "cols").only(heavy_tailed(), even())),
        outputs=dict(
            y=output("rows", f"cols * {form.bits} / 32", dtype="uint32"),
            y_scales=output("rows", f"cols / {form.group}", dtype="uint8"),
        ),
        # MLX reshapes what it packs to whole words of eight codes by 32 elements.
        multiples=dict(cols=32),
        oracle=oracle,
        dtypes=("float32", "float16", "bfloat16"),
        flops="4 * rows * cols",
        bytes=f"rows * cols * (itemsize + {form.bits} / 8 + 1 / {form.group})",
        baseline="mx.quantize",
    )(reference)
