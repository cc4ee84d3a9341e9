"""Benchmark programs of several parts, as in models."""

from typing import Any

import jax
import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function
from metalbench.hlo.bench.families.convolution import convolution, max_pool
from metalbench.hlo.bench.families.normalization import layer_norm, rms_norm


def small_network(x: Any, w: Any, v: Any, u: Any) -> Any:
    """Apply two convolutions with pools, and a classifier."""
    x = max_pool(jnp.maximum(convolution()(x, w), 0))
    x = max_pool(jnp.maximum(convolution()(x, v), 0))
    return jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ u)


def three_layers(x: Any, a: Any, b: Any, c: Any) -> Any:
    """Apply a classifier of three layers."""
    return jax.nn.softmax(jnp.tanh(jnp.tanh(x @ a) @ b) @ c)


def draw(seed: Any) -> Any:
    """Return normally distributed random numbers of Threefry."""
    return jax.random.normal(jax.random.key(seed), (512, 512))


COMPOSITE: dict[str, Function] = {
    "three_layers": (three_layers, [(128, 784), (784, 256), (256, 128), (128, 10)]),
    "convolutional": (
        small_network,
        [(8, 28, 28, 1), (3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10)],
    ),
    "norm_then_product": (
        lambda x, s, o, w: layer_norm(x, s, o) @ w,
        [(256, 512), (512,), (512,), (512, 512)],
    ),
    "rms_then_product": (lambda x, s, w: rms_norm(x, s) @ w, [(256, 512), (512,), (512, 512)]),
    "random_normal": (draw, [((), "int32")]),
    "cholesky_solve": (
        lambda a, b: jax.scipy.linalg.solve_triangular(
            jnp.linalg.cholesky(a @ a.T + 64 * jnp.eye(64)), b, lower=True
        ),
        [(64, 64), (64, 16)],
    ),
}
