"""Number-theoretic transforms modulo 2^64 - 2^32 + 1 (Goldilocks), of powers of two."""

import mlx.core as mx
import numpy as np

from metalbench.task import fields, output, task

PRIME = fields.GOLDILOCKS


def transformed(x, xp):
    """In NumPy or MLX, as numbers of 64 bits."""
    rows = x.reshape(x.shape[0], -1).astype(xp.uint64)
    return fields.transform(rows, PRIME, xp=xp).astype(xp.uint64).reshape(x.shape)


@task(
    sizes=fields.TRANSFORMS,
    gpu_headlines=("large",),
    inputs=dict(x=fields.below("batch", "high", "low", prime=PRIME, dtype="uint64")),
    outputs=dict(y=output("batch", "high", "low", dtype="uint64")),
    draw=fields.draw_transform,
    oracle=lambda x: transformed(x, np),
    flops="30 * batch * high * low",
    baseline="mx.uint64, level by level",
    against=("eager",),
)
def ntt_goldilocks(x):
    return transformed(x, mx)
