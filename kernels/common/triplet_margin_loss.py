"""max(|a - p| - |a - n| + margin, 0) of every row."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def distances(anchor, positive, negative):
    """Of every row: the distance to the positive example, and that to the negative one."""
    return np.linalg.norm(anchor - positive, axis=-1), np.linalg.norm(anchor - negative, axis=-1)


def loss_of_rows(anchor, positive, negative, margin):
    """How far the positive example is from being nearer than the negative one by the margin."""
    near, far = distances(anchor, positive, negative)
    return np.maximum(near - far + margin, 0)


def magnitude(anchor, positive, negative, margin):
    """The terms whose difference the loss is."""
    near, far = distances(anchor, positive, negative)
    return near + far + margin


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=16384, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(
        anchor=normal("rows", "cols"),
        positive=normal("rows", "cols"),
        negative=normal("rows", "cols"),
    ),
    outputs=dict(loss=output("rows")),
    constants=dict(margin=1.0),
    oracle=loss_of_rows,
    scale=magnitude,
    flops="6 * rows * cols",
    baseline="mx.sqrt(mx.sum(mx.square(a - p)))",
)
def triplet_margin_loss(anchor, positive, negative, margin):
    near = mx.sqrt(mx.sum(mx.square(anchor - positive), axis=-1))
    far = mx.sqrt(mx.sum(mx.square(anchor - negative), axis=-1))
    return mx.maximum(near - far + margin, 0)
