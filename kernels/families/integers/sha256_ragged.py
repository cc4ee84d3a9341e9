"""SHA-256 digests of messages of different lengths, one after the other in memory."""

import hashlib
import itertools
from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, output, task


def drawn(random, shape, values):
    """Where messages begin, the last end too: most are short, a few long, some empty."""
    weights = random.random(shape[0] - 1) ** 8
    ends = np.floor(np.cumsum(weights) / weights.sum() * values["bytes"])
    ends[-1] = values["bytes"]
    return np.concatenate([[0], ends]).astype(np.uint32)


def digests(x, offsets):
    """Message by message."""
    x, bounds = x.tobytes(), itertools.pairwise(offsets.tolist())
    found = b"".join(hashlib.sha256(x[first:end]).digest() for first, end in bounds)
    return np.frombuffer(found, np.uint8).reshape(-1, 32)


@task(
    sizes=dict(
        small=dict(messages=16, bytes=2000),
        odd1=dict(messages=301, bytes=30011),
        odd2=dict(messages=5, bytes=1023),
        seed=dict(messages=1024, bytes=262144),
        large=dict(messages=262144, bytes=67108864),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=integers("bytes", high=256, dtype="uint8"),
        offsets=replace(integers("messages + 1", high="bytes"), draw=drawn, together=True),
    ),
    outputs=dict(y=output("messages", 32, dtype="uint8")),
    oracle=digests,
    flops="2000 * (messages + bytes / 64)",
    baseline="hashlib.sha256, by way of MLX's arrays",
    against=("eager",),
)
def sha256_ragged(x, offsets):
    return mx.array(digests(np.array(x), np.array(offsets)))
