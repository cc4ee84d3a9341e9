"""Cosine of the angle between every pair of rows."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def lengths(x, y, eps):
    """Product of the lengths of both rows, but at least `eps`."""
    squares = np.einsum("rc,rc->r", x, x), np.einsum("rc,rc->r", y, y)
    return np.maximum(np.sqrt(squares[0]) * np.sqrt(squares[1]), eps)


def cosine(x, y, eps):
    """Inner product of the rows, in units of their lengths."""
    return np.einsum("rc,rc->r", x, y) / lengths(x, y, eps)


def magnitude(x, y, eps):
    """The sum of the absolute values of what the inner product adds."""
    return np.einsum("rc,rc->r", np.abs(x), np.abs(y)) / lengths(x, y, eps)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), y=normal("rows", "cols")),
    outputs=dict(similarity=output("rows")),
    constants=dict(eps=1e-8),
    oracle=cosine,
    scale=magnitude,
    flops="6 * rows * cols",
    baseline="mx.sum(x * y) / (mx.sqrt(mx.sum(x * x)) * mx.sqrt(mx.sum(y * y)))",
    torch=lambda torch, x, y, eps: torch.nn.functional.cosine_similarity(x, y, dim=-1, eps=eps),
)
def cosine_similarity(x, y, eps):
    lengths = mx.sqrt(mx.sum(x * x, axis=-1)) * mx.sqrt(mx.sum(y * y, axis=-1))
    return mx.sum(x * y, axis=-1) / mx.maximum(lengths, eps)
