"""Gradients of layer normalisation: of its input, weights and bias."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, sparse, task
from metalbench.task.families import FLOATING
from metalbench.task.oracles import root_mean_square, standardise


def gradients(x, w, g, eps):
    """Of the input, the weights and the bias."""
    v = standardise(x, eps)
    along = w * g
    dx = along - v * (along * v).mean(axis=-1, keepdims=True)
    dx -= along.mean(axis=-1, keepdims=True)
    dx /= root_mean_square(x - x.mean(axis=-1, keepdims=True), eps)
    return dx, (g * v).sum(axis=0), g.sum(axis=0)


def magnitude(x, w, g, eps):
    """The terms of each, added up."""
    v = np.abs(standardise(x, eps))
    along = np.abs(w * g)
    dx = along + v * (along * v).mean(axis=-1, keepdims=True)
    dx += along.mean(axis=-1, keepdims=True)
    dx /= root_mean_square(x - x.mean(axis=-1, keepdims=True), eps)
    return dx, (np.abs(g) * v).sum(axis=0), np.abs(g).sum(axis=0)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=512, cols=1024),
        large=dict(rows=2048, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols").only(even(), coarse(), sparse()),
        w=normal("cols", mean=1, deviation=0.2).only(even()),
        g=normal("rows", "cols"),
    ),
    outputs=dict(dx=output("rows", "cols"), dw=output("cols"), db=output("cols")),
    constants=dict(eps=1e-5),
    oracle=gradients,
    scale=magnitude,
    dtypes=FLOATING,
    flops="16 * rows * cols",
    baseline="mx.vjp of mx.fast.layer_norm",
)
def layer_norm_gradient(x, w, g, eps):
    def norm(x, w, b):
        return mx.fast.layer_norm(x, w, b, eps)

    return tuple(mx.vjp(norm, [x, w, mx.zeros_like(w)], [g])[1])
