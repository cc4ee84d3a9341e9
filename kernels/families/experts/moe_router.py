"""The 4 experts of every token and their weights: softmax over the largest logits."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, heavy_tailed, normal, output, shifted, task


def chosen(logits, k):
    """Weights and experts, the largest logit first; of equal ones the expert of lower number."""
    order = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
    largest = np.take_along_axis(logits, order, axis=-1)
    weights = np.exp(largest - largest[:, :1])
    return weights / weights.sum(axis=-1, keepdims=True), order.astype(np.uint32)


@task(
    sizes=dict(
        small=dict(tokens=16, experts=32),
        odd1=dict(tokens=37, experts=7),
        odd2=dict(tokens=5, experts=61),
        seed=dict(tokens=4096, experts=64),
        # Beyond 65 535 rows MLX does not sort on an NVIDIA GPU.
        large=dict(tokens=32768, experts=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        logits=normal("tokens", "experts").only(shifted(100), heavy_tailed(), even(), coarse())
    ),
    outputs=dict(weights=output("tokens", "k"), expert=output("tokens", "k", dtype="uint32")),
    constants=dict(k=4),
    oracle=chosen,
    dtypes=("float32", "float16", "bfloat16"),
    flops="tokens * experts * k",
    baseline="mx.argsort, take_along_axis, softmax",
)
def moe_router(logits, k):
    order = mx.argsort(-logits, axis=-1)[:, :k].astype(mx.uint32)
    largest = mx.take_along_axis(logits, order, axis=-1)
    return mx.softmax(largest, axis=-1, precise=True), order
