"""A compiled training step of a model with two kernels, one of them the other's gradient."""

from __future__ import annotations

from functools import partial

import mlx.core as mx
from mlx import nn, optimizers

VALUE = """
    uint i = thread_position_in_grid.x;
    float g = gate[i], s = 1 / (1 + metal::exp(-g));
    out[i] = g * s * x[i];
"""
GRADIENT = """
    uint i = thread_position_in_grid.x;
    float g = gate[i], s = 1 / (1 + metal::exp(-g)), c = cotangent[i];
    x_grad[i] = c * g * s;
    gate_grad[i] = c * x[i] * s * (1 + g * (1 - s));
"""


def _kernel(name, inputs, outputs, source):
    kernel = mx.fast.metal_kernel(
        name=name, input_names=inputs, output_names=outputs, source=source
    )

    def call(*arrays):
        return kernel(
            inputs=list(arrays),
            grid=(arrays[0].size, 1, 1),
            threadgroup=(256, 1, 1),
            output_shapes=[arrays[0].shape] * len(outputs),
            output_dtypes=[arrays[0].dtype] * len(outputs),
        )

    return call


value = _kernel("gated", ["x", "gate"], ["out"], VALUE)
gradient = _kernel("gated_grad", ["x", "gate", "cotangent"], ["x_grad", "gate_grad"], GRADIENT)


@mx.custom_function
def gated(x, gate):
    """silu(gate) x"""
    return value(x, gate)[0]


@gated.vjp
def _(primals, cotangent, _):
    return gradient(*primals, cotangent)


@partial(mx.compile, shapeless=True)
def gated_ops(x, gate):
    """The same by MLX's operations."""
    return nn.silu(gate) * x


class Model(nn.Module):
    """A network of one hidden layer with gates."""

    def __init__(self, activation):
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(6, 20), nn.Linear(6, 20), nn.Linear(20, 3)
        self.activation = activation

    def __call__(self, x):
        return self.down(self.activation(self.up(x), self.gate(x)))


def train(activation, steps):
    """The losses of some steps."""
    mx.random.seed(3)
    model = Model(activation)
    optimizer = optimizers.AdamW(learning_rate=0.02)
    x = mx.random.normal((32, 6))
    targets = mx.argmax(x[:, :3], axis=1)

    def loss(model, x, targets):
        return nn.losses.cross_entropy(model(x), targets, reduction="mean")

    mx.eval(model.state)
    state = [model.state, optimizer.state, mx.random.state]

    @partial(mx.compile, inputs=state, outputs=state)
    def step(x, targets):
        value, gradients = nn.value_and_grad(model, loss)(model, x, targets)
        optimizer.update(model, gradients)
        return value

    losses = []
    for _ in range(steps):
        losses.append(step(x, targets))
        mx.eval(state)
    return [each.item() for each in losses]
