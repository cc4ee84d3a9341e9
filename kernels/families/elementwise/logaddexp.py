"""Logarithm of a sum of exponentials of two numbers, without the exponentials' size."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, normal, output, shifted, sparse, task


def numbers():
    """Far apart, but within what half precision has."""
    return normal("rows", "cols", deviation=20.0).only(shifted(100), even(), coarse(), sparse())


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=4096, cols=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=numbers(), b=numbers()),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda a, b: np.logaddexp(a, b),
    # A larger number and what the other adds to it, which may cancel.
    scale=lambda a, b: np.abs(np.maximum(a, b)) + np.log1p(np.exp(-np.abs(a - b))),
    dtypes=("float32", "float16", "bfloat16"),
    flops="6 * rows * cols",
    baseline="mx.logaddexp",
)
def logaddexp(a, b):
    return mx.logaddexp(a, b)
