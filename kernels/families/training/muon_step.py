"""One step of the optimiser Muon: momentum, made orthogonal by Newton-Schulz iterations."""

import mlx.core as mx
import numpy as np

from metalbench.task import even, heavy_tailed, normal, output, task
from metalbench.task.families import FLOATING

# Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024).
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315
ITERATIONS = 5


def step(parameter, gradient, velocity, rate, momentum, decay):
    """The new parameter and velocity."""
    gradient = gradient + decay * parameter
    velocity = momentum * velocity + (1 - momentum) * gradient
    x = (1 - momentum) * gradient + momentum * velocity
    rows, cols = x.shape
    x = x.T if rows > cols else x
    x = x / (np.sqrt((x * x).sum()) + 1e-7)
    for _ in range(ITERATIONS):
        a = x @ x.T
        x = LINEAR * x + (CUBIC * a + QUINTIC * (a @ a)) @ x
    x = x.T if rows > cols else x
    return parameter - rate * max(1, rows / cols) ** 0.5 * x, velocity


def magnitudes(parameter, gradient, velocity, rate, momentum, decay):
    """The terms of the velocity; of the parameter, a step of singular values of about 1."""
    rows, cols = parameter.shape
    gradient = np.abs(gradient) + decay * np.abs(parameter)
    terms = momentum * np.abs(velocity) + (1 - momentum) * gradient
    size = rate * max(1, rows / cols) ** 0.5
    return np.abs(parameter) + size, terms


def orthogonal(x):
    """Five iterations by MLX, as its own optimiser has them."""
    x = x / (mx.linalg.norm(x, keepdims=True) + 1e-7)
    for _ in range(ITERATIONS):
        a = x @ x.T
        x = mx.addmm(LINEAR * x, mx.addmm(CUBIC * a, a, a, beta=1.0, alpha=QUINTIC), x)
    return x


@task(
    sizes=dict(
        small=dict(rows=16, cols=40),
        odd1=dict(rows=37, cols=101),
        odd2=dict(rows=131, cols=33),
        seed=dict(rows=128, cols=256),
        large=dict(rows=1024, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        parameter=normal("rows", "cols").only(even(), heavy_tailed()),
        gradient=normal("rows", "cols").only(even(), heavy_tailed()),
        velocity=normal("rows", "cols", deviation=0.1).only(even(), heavy_tailed()),
    ),
    outputs=dict(new_parameter=output("rows", "cols"), new_velocity=output("rows", "cols")),
    constants=dict(rate=0.02, momentum=0.95, decay=0.01),
    oracle=step,
    scale=magnitudes,
    dtypes=FLOATING,
    flops="(20 * rows * cols + 10 * min(rows, cols) * min(rows, cols)) * min(rows, cols)",
    baseline="mx.matmul, mx.addmm: Muon of mlx.optimizers",
)
def muon_step(parameter, gradient, velocity, rate, momentum, decay):
    kind = parameter.dtype
    parameter, gradient, velocity = (
        each.astype(mx.float32) for each in (parameter, gradient, velocity)
    )
    gradient = gradient + decay * parameter
    velocity = momentum * velocity + (1 - momentum) * gradient
    x = (1 - momentum) * gradient + momentum * velocity
    rows, cols = x.shape
    x = orthogonal(x.T).T if rows > cols else orthogonal(x)
    new = parameter - rate * max(1, rows / cols) ** 0.5 * x
    return new.astype(kind), velocity.astype(kind)
