"""Inverses modulo the prime of BN254's scalars, of and in Montgomery's form; 0 of 0."""

import mlx.core as mx
import numpy as np

from metalbench.task import fields, output, task

PRIME = fields.BN254_SCALAR
SQUARE = 2**512 % PRIME


def inverses(x):
    """With Python's integers: x stands for x / R, whose inverse stands for itself times R."""
    return fields.map_residues(lambda a: SQUARE * pow(a, -1, PRIME) if a else 0, PRIME, x)


@task(
    sizes=dict(
        small=dict(n=64),
        odd1=dict(n=1023),
        odd2=dict(n=37),
        seed=dict(n=2048),
        large=dict(n=262144),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=fields.residues("n", prime=PRIME, limbs=8)),
    outputs=dict(y=output("n", 8, dtype="uint32")),
    oracle=inverses,
    flops="272 * 53 * n",
    baseline="Python's integers, by way of MLX's arrays",
    against=("eager",),
)
def field_inverse(x):
    return mx.array(inverses(np.array(x)))
