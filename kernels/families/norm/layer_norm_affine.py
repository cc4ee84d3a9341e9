"""Layer norm with a weight and a bias for each column."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def deviation(x, eps):
    """The root of each row's variance."""
    return np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def standard(x, eps):
    """Rows with mean 0 and variance 1."""
    return (x - x.mean(axis=-1, keepdims=True)) / deviation(x, eps)


def terms(x, eps):
    """What is subtracted, as large as it is."""
    return (np.abs(x) + np.abs(x.mean(axis=-1, keepdims=True))) / deviation(x, eps)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "cols"),
        weight=normal("cols", mean=1.0, deviation=0.2),
        bias=normal("cols"),
    ),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(eps=1e-5),
    oracle=lambda x, weight, bias, eps: standard(x, eps) * weight + bias,
    scale=lambda x, weight, bias, eps: np.abs(terms(x, eps) * weight) + np.abs(bias),
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * rows * cols",
    baseline="mx.fast.layer_norm",
)
def layer_norm_affine(x, weight, bias, eps):
    return mx.fast.layer_norm(x, weight, bias, eps)
