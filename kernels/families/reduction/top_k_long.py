"""The 500 largest elements of long rows in descending order, and where they come from."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, normal, output, task, with_special
from metalbench.task.families import FLOATING


def largest(x, k):
    """Values and columns; of equal elements those that come first."""
    order = np.argsort(-x, axis=-1, kind="stable")[:, :k]
    return np.take_along_axis(x, order, axis=-1), order


@task(
    sizes=dict(
        small=dict(rows=2, cols=5000),
        odd1=dict(rows=3, cols=9001),
        odd2=dict(rows=1, cols=65537),
        short=dict(rows=2, cols=500),
        seed=dict(rows=2, cols=131072),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=1, cols=16777216),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("rows", "cols").only(coarse(), with_special(math.inf, -math.inf))),
    outputs=dict(y=output("rows", "k"), indices=output("rows", "k", dtype="uint32")),
    constants=dict(k=500),
    oracle=largest,
    dtypes=FLOATING,
    flops="10 * rows * cols",
    baseline="mx.argsort(-x)",
)
def top_k_long(x, k):
    order = mx.argsort(-x, axis=-1)[:, :k]
    return mx.take_along_axis(x, order, axis=-1), order
