"""Benchmark steps of training: values, gradients and updates."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from metalbench.hlo.bench.catalogue import Function


def perceptron(w: Any, v: Any, x: Any, labels: Any) -> Any:
    """Return the loss of two layers."""
    logits = jnp.tanh(x @ w) @ v
    rows = jnp.arange(labels.shape[0])
    return -jax.nn.log_softmax(logits)[rows, labels].mean()


def perceptron_step(w: Any, v: Any, x: Any, labels: Any) -> Any:
    """Return the loss and weights of a step of gradient descent."""
    loss, (dw, dv) = jax.value_and_grad(perceptron, (0, 1))(w, v, x, labels)
    return loss, w - 0.1 * dw, v - 0.1 * dv


def convolutional(w: Any, x: Any, y: Any) -> Any:
    """Return the loss of a convolution."""
    image = lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return ((jnp.maximum(image, 0).mean(axis=(1, 2)) - y) ** 2).mean()


def adam(w: Any, g: Any, m: Any, v: Any) -> Any:
    """Return weights and moments after a step of Adam."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 1e-3 * (m / 0.9) / (jnp.sqrt(v / 0.999) + 1e-8), m, v


TRAINING: dict[str, Function] = {
    "perceptron": (perceptron_step, [(784, 512), (512, 10), (128, 784), ((128,), "int32")]),
    "convolution_grad": (
        jax.value_and_grad(convolutional),
        [(3, 3, 8, 16), (4, 16, 16, 8), (4, 16)],
    ),
    "softmax_grad": (
        jax.grad(lambda x, y: (jax.nn.softmax(x) * y).sum()),
        [(1024, 512), (1024, 512)],
    ),
    "adam": (adam, [(512, 512)] * 4),
}
