"""Number-theoretic transforms modulo 15 2^27 + 1 (BabyBear), of powers of two."""

import mlx.core as mx
import numpy as np

from metalbench.task import fields, output, task

PRIME = fields.BABYBEAR


def transformed(x, xp):
    """In NumPy or MLX, as numbers of 64 bits."""
    rows = x.reshape(x.shape[0], -1).astype(xp.uint64)
    return fields.transform(rows, PRIME, xp=xp).astype(xp.uint32).reshape(x.shape)


@task(
    sizes=fields.TRANSFORMS,
    gpu_headlines=("large",),
    inputs=dict(x=fields.below("batch", "high", "low", prime=PRIME, dtype="uint32")),
    outputs=dict(y=output("batch", "high", "low", dtype="uint32")),
    draw=fields.draw_transform,
    oracle=lambda x: transformed(x, np),
    flops="30 * batch * high * low",
    baseline="mx.uint64, level by level",
    against=("eager",),
)
def ntt_babybear(x):
    return transformed(x, mx)
