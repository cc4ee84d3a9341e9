"""Cross entropy of a linear layer's logits, which are never all stored."""

import mlx.core as mx
from mlx import nn

from metalbench.task import coarse, even, integers, normal, output, sparse, task
from metalbench.task.training import (
    LINEAR_SIZES,
    linear_cross_entropy_magnitude,
)
from metalbench.task.training import linear_cross_entropy as oracle

GENTLE = (even(), coarse(), sparse())


@task(
    sizes=LINEAR_SIZES,
    gpu_headlines=("large",),
    inputs=dict(
        hidden=normal("rows", "dims").only(*GENTLE),
        w=normal("vocabulary", "dims", deviation=0.1).only(*GENTLE),
        target=integers("rows", high="vocabulary"),
    ),
    outputs=dict(loss=output("rows", dtype="float32"), lse=output("rows", dtype="float32")),
    oracle=oracle,
    scale=linear_cross_entropy_magnitude,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * dims * vocabulary",
    baseline="mx.matmul, mx.logsumexp: all logits stored",
)
def linear_cross_entropy(hidden, w, target):
    logits = hidden.astype(mx.float32) @ w.astype(mx.float32).T
    return nn.losses.cross_entropy(logits, target), mx.logsumexp(logits, axis=-1)
