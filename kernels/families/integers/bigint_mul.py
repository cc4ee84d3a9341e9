"""Products of pairs of large integers, as limbs of 32 bits, the lowest first."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import fields, integers, output, task


def drawn(random, shape, values):
    """Random limbs; one number in four has runs of limbs that are all ones or all zeros."""
    limbs = random.integers(0, 2**32, shape, dtype=np.uint32)
    runs = np.where(random.random(shape) < 0.5, np.uint32(2**32 - 1), np.uint32(0))
    runs = np.where(random.random(shape) < 0.9, np.uint32(2**32 - 1), runs)
    return np.where(random.random((shape[0], 1)) < 0.25, runs, limbs)


def products(x, y):
    """With Python's integers."""
    pairs = zip(fields.to_integers(x), fields.to_integers(y), strict=True)
    return fields.to_limbs([a * b for a, b in pairs], len(x), 2 * x.shape[1])


numbers = replace(integers("count", "limbs", high=2**32), draw=drawn, together=True)


@task(
    sizes=dict(
        small=dict(count=10, limbs=32),
        odd1=dict(count=37, limbs=13),
        odd2=dict(count=5, limbs=101),
        one=dict(count=3, limbs=1),
        seed=dict(count=256, limbs=64),
        large=dict(count=65536, limbs=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=numbers, y=numbers),
    outputs=dict(z=output("count", "2 * limbs", dtype="uint32")),
    oracle=products,
    flops="2 * count * limbs * limbs",
    baseline="Python's integers, by way of MLX's arrays",
    against=("eager",),
)
def bigint_mul(x, y):
    return mx.array(products(np.array(x), np.array(y)))
