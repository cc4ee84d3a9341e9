"""BLAKE3 digest of one long message."""

import mlx.core as mx
import numpy as np

from metalbench.task import hashes, integers, output, task


@task(
    sizes=dict(
        small=dict(bytes=3000),
        odd1=dict(bytes=1025),
        odd2=dict(bytes=300007),
        short=dict(bytes=65),
        seed=dict(bytes=1048576),
        large=dict(bytes=268435456),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=integers("bytes", high=256, dtype="uint8")),
    outputs=dict(y=output(32, dtype="uint8")),
    oracle=lambda x: hashes.blake3(x),
    flops="14 * bytes",
    baseline="NumPy, by way of MLX's arrays",
    against=("eager",),
)
def blake3(x):
    return mx.array(hashes.blake3(np.array(x)))
