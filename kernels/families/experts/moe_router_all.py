"""The 8 experts of every token, weighted by the softmax over the logits of all experts."""

import mlx.core as mx
import numpy as np

from metalbench.task import coarse, even, heavy_tailed, normal, output, shifted, task
from metalbench.task.oracles import softmax


def chosen(logits, k):
    """The largest first, of equal ones the expert of lower number."""
    order = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
    shares = softmax(logits, axis=-1)
    return np.take_along_axis(shares, order, axis=-1), order.astype(np.uint32)


@task(
    sizes=dict(
        small=dict(tokens=16, experts=32),
        odd1=dict(tokens=37, experts=9),
        odd2=dict(tokens=5, experts=61),
        seed=dict(tokens=2048, experts=64),
        # Beyond 65 535 rows MLX does not sort on an NVIDIA GPU.
        large=dict(tokens=32768, experts=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        logits=normal("tokens", "experts").only(shifted(100), heavy_tailed(), even(), coarse())
    ),
    outputs=dict(weights=output("tokens", "k"), expert=output("tokens", "k", dtype="uint32")),
    constants=dict(k=8),
    oracle=chosen,
    dtypes=("float32", "float16", "bfloat16"),
    flops="tokens * experts * k",
    baseline="mx.softmax, argsort, take_along_axis",
)
def moe_router_all(logits, k):
    order = mx.argsort(-logits, axis=-1)[:, :k].astype(mx.uint32)
    return mx.take_along_axis(mx.softmax(logits, axis=-1, precise=True), order, axis=-1), order
