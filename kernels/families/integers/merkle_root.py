"""Root of the Merkle tree over messages, by SHA-256 as certificate transparency has it."""

import mlx.core as mx
import numpy as np

from metalbench.task import hashes, integers, output, task


@task(
    sizes=dict(
        small=dict(leaves=37, length=64),
        odd1=dict(leaves=1025, length=5),
        odd2=dict(leaves=300, length=119),
        one=dict(leaves=1, length=2),
        seed=dict(leaves=4096, length=64),
        large=dict(leaves=1048576, length=256),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=integers("leaves", "length", high=256, dtype="uint8")),
    outputs=dict(y=output(32, dtype="uint8")),
    oracle=lambda x: hashes.merkle_root(x),
    flops="2000 * leaves * ((length + 73) / 64 + 2)",
    baseline="hashlib.sha256, by way of MLX's arrays",
    against=("eager",),
)
def merkle_root(x):
    return mx.array(hashes.merkle_root(np.array(x)))
