"""A token of every row of logits, drawn by its odds: Threefry, Gumbel's numbers, the largest."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, integers, normal, output, sparse, task

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(key, count):
    """Threefry 2x32-20 (Salmon et al., 2011): counter (j, j + half) makes words j and j + half.

    Of an odd count the last counter's second half is zero, and its second word left out.
    """
    half = (count + 1) // 2
    x = np.arange(half, dtype=np.uint32)
    y = x + np.uint32(half)
    if count % 2:
        y[-1] = 0
    first, second = key.astype(np.uint32)
    keys = (first, second, np.uint32(0x1BD11BDA) ^ first ^ second)
    with np.errstate(over="ignore"):
        x, y = x + keys[0], y + keys[1]
        for turn in range(5):
            for by in ROTATIONS[turn % 2]:
                x = x + y
                y = ((y << np.uint32(by)) | (y >> np.uint32(32 - by))) ^ x
            x = x + keys[(turn + 1) % 3]
            y = y + keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return np.concatenate([x, y])[:count]


def drawn(logits, key):
    """The largest of logits and Gumbel's numbers, made of the same 32 bits as MLX makes them."""
    bits = words(key, logits.size).reshape(logits.shape)
    uniform = bits.astype(np.float32) / np.float32(2**32 - 1)
    uniform = np.minimum(uniform, np.float32(1 - 2.0**-24)).astype(np.float64)
    with np.errstate(divide="ignore"):
        gumbel = -np.log(-np.log(uniform))
    return np.argmax(logits + gumbel, axis=-1).astype(np.uint32)


@task(
    sizes=dict(
        small=dict(rows=8, vocabulary=256),
        odd1=dict(rows=3, vocabulary=1023),
        odd2=dict(rows=5, vocabulary=517),
        seed=dict(rows=8, vocabulary=32768),
        vocabulary=dict(rows=1, vocabulary=152064),
        large=dict(rows=64, vocabulary=152064),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        logits=normal("rows", "vocabulary").only(even(), coarse(), sparse()),
        key=integers(2, high=4294967296),
    ),
    outputs=dict(y=output("rows", dtype="uint32")),
    oracle=drawn,
    flops="50 * rows * vocabulary",
    baseline="mx.random.categorical",
)
def gumbel_argmax(logits, key):
    return mx.random.categorical(logits, key=key)
