"""Montgomery products modulo the prime of BN254's scalars, 254 bits in eight limbs."""

import mlx.core as mx
import numpy as np

from metalbench.task import fields, output, task

PRIME = fields.BN254_SCALAR
INVERSE = pow(2**256, -1, PRIME)


def products(x, y):
    """With Python's integers."""
    return fields.map_residues(lambda a, b: a * b * INVERSE, PRIME, x, y)


@task(
    sizes=dict(
        small=dict(n=64),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=16384),
        large=dict(n=1048576),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=fields.residues("n", prime=PRIME, limbs=8), y=fields.residues("n", prime=PRIME, limbs=8)
    ),
    outputs=dict(z=output("n", 8, dtype="uint32")),
    oracle=products,
    flops="272 * n",
    baseline="Python's integers, by way of MLX's arrays",
    against=("eager",),
)
def mont_mul(x, y):
    return mx.array(products(np.array(x), np.array(y)))
