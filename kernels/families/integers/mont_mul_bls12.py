"""Montgomery products modulo the prime of BLS12-381's coordinates, 381 bits in twelve limbs."""

import mlx.core as mx
import numpy as np

from metalbench.task import fields, output, task

PRIME = fields.BLS12_BASE
INVERSE = pow(2**384, -1, PRIME)


def products(x, y):
    """With Python's integers."""
    return fields.map_residues(lambda a, b: a * b * INVERSE, PRIME, x, y)


@task(
    sizes=dict(
        small=dict(n=64),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=16384),
        large=dict(n=262144),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=fields.residues("n", prime=PRIME, limbs=12), y=fields.residues("n", prime=PRIME, limbs=12)
    ),
    outputs=dict(z=output("n", 12, dtype="uint32")),
    oracle=products,
    flops="600 * n",
    baseline="Python's integers, by way of MLX's arrays",
    against=("eager",),
)
def mont_mul_bls12(x, y):
    return mx.array(products(np.array(x), np.array(y)))
