"""Normalisation of every column over the batch, without scale and shift."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def standardised(x, eps):
    """Columns of `x` with mean 0 and variance 1."""
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps)


def magnitude(x, eps):
    """The terms whose difference the result is, in units of the standard deviation."""
    return (np.abs(x) + np.abs(x.mean(axis=0))) / np.sqrt(x.var(axis=0) + eps)


@task(
    sizes=dict(
        small=dict(rows=64, cols=64),
        odd1=dict(rows=1023, cols=37),
        odd2=dict(rows=4097, cols=5),
        seed=dict(rows=1024, cols=256),
        large=dict(rows=1024, cols=8192),
        huge=dict(rows=9216, cols=8192),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=standardised,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * rows * cols",
    baseline="mx.mean, mx.rsqrt",
    torch=lambda torch, x, eps: torch.nn.functional.batch_norm(
        x, None, None, training=True, eps=eps
    ),
)
def batch_norm(x, eps):
    centred = x - mx.mean(x, axis=0)
    return centred * mx.rsqrt(mx.mean(mx.square(centred), axis=0) + eps)
