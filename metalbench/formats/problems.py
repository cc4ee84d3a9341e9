"""Declare tasks on quantised weights, one function for each operation and any format."""

from __future__ import annotations

from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.declared import Format, affine, declare_weight_task, mode
from metalbench.task import Task, integers, normal

__all__ = [
    "affine",
    "dequantize",
    "embedding",
    "gather_matvec",
    "matmul",
    "matmul_without_transpose",
    "matvec",
    "mode",
    "rms_norm_matvec",
]

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
    large=dict(batch=512, rows=4096, cols=4096),
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
        baseline="mx.dequantize, multiply",
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
        baseline="mx.quantized_matmul",
        sizes=MATRICES,
    )


def matmul(name: str, form: Format) -> Task:
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
        baseline="mx.quantized_matmul",
        sizes=PRODUCTS,
    )


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
