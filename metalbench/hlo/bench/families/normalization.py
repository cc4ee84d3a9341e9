"""Benchmark norms and softmax, written as formulas."""

from typing import Any

import jax
import jax.numpy as jnp

from metalbench.hlo.bench.catalogue import Function

ROWS = (1024, 1024)


def layer_norm(x: Any, scale: Any, offset: Any) -> Any:
    """Return rows minus their mean, divided by their deviation, with scale and offset."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + 1e-5) * scale + offset


def rms_norm(x: Any, scale: Any) -> Any:
    """Return rows divided by their root mean square."""
    return x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def batch_norm(x: Any, scale: Any, offset: Any) -> Any:
    """Normalise by the mean and variance of the batch."""
    mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + offset


def group_norm(x: Any) -> Any:
    """Normalise eight groups of channels."""
    grouped = x.reshape(8, 28 * 28, 8, 8)
    mean = grouped.mean(axis=(1, 3), keepdims=True)
    variance = grouped.var(axis=(1, 3), keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + 1e-5)).reshape(x.shape)


NORMALIZATION: dict[str, Function] = {
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), [ROWS]),
    "softmax_half": (lambda x: jax.nn.softmax(x, axis=-1), [(ROWS, "float16")]),
    "log_softmax": (lambda x: jax.nn.log_softmax(x, axis=-1), [ROWS]),
    "layer_norm": (layer_norm, [ROWS, (1024,), (1024,)]),
    "rms_norm": (rms_norm, [ROWS, (1024,)]),
    "batch_norm": (batch_norm, [(8, 28, 28, 64), (64,), (64,)]),
    "group_norm": (group_norm, [(8, 28, 28, 64)]),
    "add_layer_norm": (
        lambda x, y, scale, offset: layer_norm(x + y, scale, offset),
        [ROWS, ROWS, (1024,), (1024,)],
    ),
}
