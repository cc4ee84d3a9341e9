"""Sums of points of the curve BN254 in buckets, as a multi-scalar product has them."""

import itertools
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import curves, integers, output, task


def drawn_offsets(random, shape, values):
    """Where buckets begin, the last end too: of all lengths, some empty."""
    ends = np.sort(random.integers(0, values["n"] + 1, shape[0] - 2))
    return np.concatenate([[0], ends, [values["n"]]]).astype(np.uint32)


def sums_of_buckets(points, offsets):
    """Bucket by bucket, with Python's integers."""
    each = curves.to_points(points)
    bounds = itertools.pairwise(offsets.tolist())
    return curves.to_array([curves.add_all(each[first:end]) for first, end in bounds])


@task(
    sizes=dict(
        small=dict(n=100, buckets=5),
        odd1=dict(n=301, buckets=37),
        odd2=dict(n=33, buckets=3),
        seed=dict(n=1024, buckets=32),
        large=dict(n=65536, buckets=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        points=curves.points("n"),
        offsets=replace(integers("buckets + 1", high="n"), draw=drawn_offsets, together=True),
    ),
    outputs=dict(y=output("buckets", 2, 8, dtype="uint32")),
    oracle=sums_of_buckets,
    flops="3500 * (n + 100 * buckets)",
    baseline="Python's integers, by way of MLX's arrays",
    against=("eager",),
)
def msm_buckets(points, offsets):
    return mx.array(sums_of_buckets(np.array(points), np.array(offsets)))
