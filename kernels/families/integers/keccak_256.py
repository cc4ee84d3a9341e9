"""Keccak-256 digests of messages of equal length, with Ethereum's padding."""

import mlx.core as mx
import numpy as np

from metalbench.task import hashes, integers, output, task


@task(
    sizes=hashes.MESSAGES,
    gpu_headlines=("large",),
    inputs=dict(x=integers("messages", "length", high=256, dtype="uint8")),
    outputs=dict(y=output("messages", 32, dtype="uint8")),
    oracle=lambda x: hashes.keccak(x, suffix=1),
    flops="3700 * messages * (length / 136 + 1)",
    baseline="NumPy, by way of MLX's arrays",
    against=("eager",),
)
def keccak_256(x):
    return mx.array(hashes.keccak(np.array(x), suffix=1))
