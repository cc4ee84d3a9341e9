"""Benchmark programs that fusion turns into few kernels."""

from typing import Any

import jax
import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function

LARGE = (1024, 1024)


def chain(x: Any) -> Any:
    """Apply many elementwise operations, one after the other."""
    for number in range(16):
        x = x * 0.5 + number
    return x


def siblings(x: Any) -> Any:
    """Return several results of one operand."""
    return x + 1, x * 2, jnp.abs(x), jnp.maximum(x, 0)


def used_twice(x: Any) -> Any:
    """Return an elementwise result and its sum."""
    y = jnp.exp(x)
    return y / (1 + y), y.sum()


FUSION: dict[str, Function] = {
    "chain": (chain, [LARGE]),
    "siblings": (siblings, [LARGE]),
    "used_twice": (used_twice, [LARGE]),
    "sum_of_squares": (lambda x, y: ((x - y) ** 2).sum(axis=-1), [LARGE, LARGE]),
    "product_epilogue": (
        lambda x, w, b: jax.nn.gelu(x @ w + b),
        [(256, 256), (256, 256), (256,)],
    ),
    "transposed_sum": (lambda x, y: x.T + y, [LARGE, LARGE]),
}
