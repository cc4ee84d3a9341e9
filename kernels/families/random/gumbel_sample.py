"""One column of every row, drawn in proportion to the exponentials of its logits."""

import mlx.core as mx
import numpy as np

from metalbench.task import even, integers, normal, output, sparse, task, threefry
from metalbench.task.matrices import FLOATING


def sampled(logits, key):
    """Where logit plus noise is largest."""
    return np.argmax(logits + threefry.gumbel(key, logits.size).reshape(logits.shape), axis=-1)


@task(
    sizes=dict(
        small=dict(rows=2, cols=256),
        odd1=dict(rows=3, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=4, cols=8192),
        large=dict(rows=32, cols=152064),
    ),
    gpu_headline="large",
    inputs=dict(
        logits=normal("rows", "cols").only(sparse(), even()), key=integers(2, high=4294967296)
    ),
    outputs=dict(y=output("rows", dtype="uint32")),
    constants=dict(),
    oracle=sampled,
    dtypes=FLOATING,
    flops="45 * rows * cols",
    baseline="mx.random.categorical",
)
def gumbel_sample(logits, key):
    return mx.random.categorical(logits.astype(mx.float32), key=key)
