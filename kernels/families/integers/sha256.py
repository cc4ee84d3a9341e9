"""SHA-256 digests of messages of equal length."""

import hashlib

import mlx.core as mx
import numpy as np

from metalbench.task import hashes, integers, output, task


def digests(x):
    """Message by message."""
    found = b"".join(hashlib.sha256(message).digest() for message in x)
    return np.frombuffer(found, np.uint8).reshape(-1, 32)


@task(
    sizes=hashes.MESSAGES,
    gpu_headlines=("large",),
    inputs=dict(x=integers("messages", "length", high=256, dtype="uint8")),
    outputs=dict(y=output("messages", 32, dtype="uint8")),
    oracle=digests,
    flops="2000 * messages * ((length + 72) / 64)",
    baseline="hashlib.sha256, by way of MLX's arrays",
    against=("eager",),
)
def sha256(x):
    return mx.array(digests(np.array(x)))
