"""Benchmark elementwise operations of one or two operands, with and without broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import erf

from metalbench.hlo.bench.catalogue import Function

LARGE = (1024, 1024)
ARITHMETIC: dict[str, Function] = {
    "add": (jnp.add, [LARGE, LARGE]),
    "divide": (jnp.divide, [LARGE, LARGE]),
    "power": (lambda x, y: jnp.power(jnp.abs(x), y), [LARGE, LARGE]),
    "exp": (jnp.exp, [LARGE]),
    "tanh": (jnp.tanh, [LARGE]),
    "erf": (erf, [LARGE]),
    "rsqrt": (lambda x: lax.rsqrt(jnp.abs(x) + 1), [LARGE]),
    "integers": (lambda x, y: (x * y) ^ (x >> 3), [(LARGE, "int32"), (LARGE, "int32")]),
    "broadcast_rows": (jnp.add, [LARGE, (1024,)]),
    "broadcast_columns": (jnp.multiply, [LARGE, (1024, 1)]),
    "compare_select": (lambda x, y: jnp.where(x > y, x, y * 2), [LARGE, LARGE]),
}


# Benchmark matrix products: batched, transposed, and with few columns.

MATRIX: dict[str, Function] = {
    "dot_128": (jnp.matmul, [(128, 128), (128, 128)]),
    "dot_512": (jnp.matmul, [(512, 512), (512, 512)]),
    "dot_1024": (jnp.matmul, [(1024, 1024), (1024, 1024)]),
    "dot_odd": (jnp.matmul, [(513, 257), (257, 385)]),
    "dot_half": (jnp.matmul, [((512, 512), "float16"), ((512, 512), "float16")]),
    "dot_transposed": (lambda a, b: a @ b.T, [(512, 512), (512, 512)]),
    "dot_of_transposed": (lambda a, b: a.T @ b, [(512, 512), (512, 512)]),
    "matvec": (jnp.matmul, [(4096, 1024), (1024,)]),
    "batched": (jnp.matmul, [(16, 128, 128), (16, 128, 128)]),
    "outer": (jnp.outer, [(1024,), (1024,)]),
}


# Benchmark reductions of rows, of columns and of all elements, and running sums.

REDUCTION: dict[str, Function] = {
    "sum_all": (jnp.sum, [LARGE]),
    "sum_rows": (lambda x: x.sum(axis=1), [LARGE]),
    "sum_columns": (lambda x: x.sum(axis=0), [LARGE]),
    "max_rows": (lambda x: x.max(axis=1), [LARGE]),
    "mean_middle": (lambda x: x.mean(axis=1), [(32, 256, 128)]),
    "argmax": (lambda x: jnp.argmax(x, axis=-1), [LARGE]),
    "logsumexp": (
        lambda x: jnp.log(jnp.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1),
        [LARGE],
    ),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), [(64, 512)]),
}


# Benchmark convolutions and pools, with channels last and first.


def convolution(
    strides: Any = (1, 1),
    padding: Any = "SAME",
    groups: Any = 1,
    dilation: Any = (1, 1),
    layout: Any = "NHWC",
) -> Callable[..., Any]:
    """Return a convolution of jax.lax with these attributes."""

    def of(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            padding,
            rhs_dilation=dilation,
            feature_group_count=groups,
            dimension_numbers=(layout, "HWIO" if layout == "NHWC" else "OIHW", layout),
        )

    return of


def max_pool(x: Any) -> Any:
    """Return the maxima of windows of 2 x 2, with channels last."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


CONVOLUTION: dict[str, Function] = {
    "conv_3x3": (convolution(), [(4, 28, 28, 32), (3, 3, 32, 32)]),
    "conv_1x1": (convolution(), [(4, 28, 28, 64), (1, 1, 64, 64)]),
    "conv_7x7_stride": (convolution((2, 2)), [(1, 112, 112, 3), (7, 7, 3, 32)]),
    "conv_channels_first": (convolution(layout="NCHW"), [(4, 32, 28, 28), (32, 32, 3, 3)]),
    "depthwise": (convolution(groups=64), [(4, 28, 28, 64), (3, 3, 1, 64)]),
    "dilated": (convolution(dilation=(2, 2)), [(2, 28, 28, 32), (3, 3, 32, 32)]),
    "conv_relu": (
        lambda x, w, b: jnp.maximum(convolution()(x, w) + b, 0),
        [(4, 28, 28, 32), (3, 3, 32, 32), (32,)],
    ),
    "max_pool": (max_pool, [(8, 56, 56, 32)]),
}


# Benchmark gather, scatter, slices and sorts.

TABLE = (8192, 256)
INDEXING: dict[str, Function] = {
    "gather_rows": (lambda table, i: table[i], [TABLE, ((1024,), "int32")]),
    "take_along": (
        lambda x, i: jnp.take_along_axis(x, i, axis=1),
        [(512, 512), ((512, 128), "int32")],
    ),
    "scatter_add": (lambda x, i, u: x.at[i].add(u), [(1024, 256), ((128,), "int32"), (128, 256)]),
    "scatter_set": (
        lambda x, i, u: x.at[i].set(u, unique_indices=True),
        [(1024, 256), ((128,), "int32"), (128, 256)],
    ),
    "dynamic_slice": (
        lambda x, i: lax.dynamic_slice(x, (i, 0), (256, 512)),
        [(1024, 512), ((), "int32")],
    ),
    "dynamic_update": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0)),
        [(1024, 512), (64, 512), ((), "int32")],
    ),
    "sort": (lambda x: jnp.sort(x, axis=-1), [(64, 4096)]),
    "argsort": (lambda x: jnp.argsort(x, axis=-1), [(64, 1024)]),
    "top_k": (lambda x: lax.top_k(x, 8), [(64, 1024)]),
    "one_hot": (lambda i: jnp.eye(512)[i], [((512,), "int32")]),
}


# Benchmark data movement.

MEMORY: dict[str, Function] = {
    "copy": (lambda x: x + 0, [LARGE]),
    "axpy_16m": (lambda x, y: 2 * x + y, [(4096, 4096), (4096, 4096)]),
    "transpose": (lambda x: x.T, [LARGE]),
    "transpose_4": (lambda x: x.transpose(0, 2, 1, 3), [(8, 128, 16, 64)]),
    "reverse": (lambda x: x[::-1, ::-1], [LARGE]),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], axis=1), [LARGE, LARGE]),
    "pad": (lambda x: jnp.pad(x, ((3, 5), (7, 1))), [LARGE]),
    "strided": (lambda x: x[::2, ::3], [LARGE]),
}


# Benchmark loops and branches.


def newton(x: Any) -> Any:
    """Return square roots by 20 steps of Newton's method."""
    return lax.fori_loop(0, 20, lambda _, y: 0.5 * (y + x / y), x + 1)


def until_small(x: Any) -> Any:
    """Halve until all elements are small; the number of iterations is unknown before."""

    def is_large(state: Any) -> Any:
        return jnp.max(jnp.abs(state[0])) > 1e-2

    return lax.while_loop(is_large, lambda state: (state[0] * 0.5, state[1] + 1), (x, 0))


def recurrent(h: Any, w: Any) -> Any:
    """Apply a recurrent layer to 16 steps."""
    return lax.scan(lambda state, _: (jnp.tanh(state @ w), state.sum()), h, None, length=16)


def select_function(index: Any, x: Any) -> Any:
    """Apply one of three functions."""
    return lax.switch(index, [jnp.sin, jnp.cos, lambda x: x * 2], x)


CONTROL_FLOW: dict[str, Function] = {
    "fori": (newton, [(512, 512)]),
    "while": (until_small, [(256, 256)]),
    "scan": (recurrent, [(16, 256), (256, 256)]),
    "cond": (lambda p, x: lax.cond(p > 0, jnp.exp, jnp.negative, x), [(), (512, 512)]),
    "switch": (select_function, [((), "int32"), (512, 512)]),
    "map": (lambda x: jax.lax.map(jnp.cumsum, x), [(8, 256)]),
}
