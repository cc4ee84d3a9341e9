"""Gradients of a linear layer's cross entropy, whose logits are never all stored."""

import mlx.core as mx
from mlx import nn

from metalbench.task import coarse, derive, even, integers, normal, output, sparse, task
from metalbench.task.oracles import logsumexp
from metalbench.task.training import (
    LINEAR_SIZES,
    linear_cross_entropy_gradient_magnitudes,
    linear_cross_entropy_gradients,
)

GENTLE = (even(), coarse(), sparse())


@task(
    sizes=LINEAR_SIZES,
    gpu_headlines=("large",),
    inputs=dict(
        hidden=normal("rows", "dims").only(*GENTLE),
        w=normal("vocabulary", "dims", deviation=0.1).only(*GENTLE),
        target=integers("rows", high="vocabulary"),
        lse=derive("rows", by=lambda hidden, w: logsumexp(hidden @ w.T), dtype="float32"),
        dloss=normal("rows").only(*GENTLE),
    ),
    outputs=dict(dhidden=output("rows", "dims"), dw=output("vocabulary", "dims")),
    oracle=linear_cross_entropy_gradients,
    scale=linear_cross_entropy_gradient_magnitudes,
    dtypes=("float32", "float16", "bfloat16"),
    flops="8 * rows * dims * vocabulary",
    baseline="mx.vjp of mx.matmul and the cross entropy: all logits stored",
)
def linear_cross_entropy_gradient(hidden, w, target, lse, dloss):
    def loss(hidden, w):
        logits = hidden.astype(mx.float32) @ w.astype(mx.float32).T
        return nn.losses.cross_entropy(logits, target)

    return tuple(mx.vjp(loss, [hidden, w], [dloss.astype(mx.float32)])[1])
