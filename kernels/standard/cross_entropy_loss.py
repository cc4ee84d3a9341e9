"""Cross entropy of every row against the index of its class."""

import math

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task, with_special


def loss_of_rows(logits, target):
    """log(sum(exp(row))) - row[target], for every row."""
    chosen = np.take_along_axis(logits, target.astype(np.int64)[:, None], axis=-1)[:, 0]
    largest = logits.max(axis=-1)
    shifted = logits - largest[:, None]
    return np.log(np.exp(shifted, out=shifted).sum(axis=-1)) + largest - chosen


def magnitude(logits, target):
    """The largest of the finite terms whose difference the loss is."""
    return np.abs(logits).max(axis=-1, where=np.isfinite(logits), initial=0)


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        decode=dict(rows=1, cols=4096),
        vocabulary=dict(rows=1, cols=152064),
        large=dict(rows=4096, cols=4096),
        huge=dict(rows=36864, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        logits=normal("rows", "cols").also(with_special(-math.inf)),
        target=integers("rows", high="cols"),
    ),
    outputs=dict(loss=output("rows")),
    oracle=loss_of_rows,
    scale=magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="4 * rows * cols",
    baseline="mx.logsumexp(logits) - logits[target]",
    torch=lambda torch, logits, target: torch.nn.functional.cross_entropy(
        logits, target, reduction="none"
    ),
)
def cross_entropy_loss(logits, target):
    chosen = mx.take_along_axis(logits, target[:, None], axis=-1)[:, 0]
    return mx.logsumexp(logits, axis=-1) - chosen
