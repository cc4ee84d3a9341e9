"""Root-mean-square normalisation of every head of queries and keys, with shared weights."""

import mlx.core as mx

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING
from metalbench.task.oracles import root_mean_square


def normed(q, k, w_q, w_k, eps):
    """Both, head by head."""
    return q / root_mean_square(q, eps) * w_q, k / root_mean_square(k, eps) * w_k


@task(
    sizes=dict(
        small=dict(tokens=8, heads=4, kv_heads=2, dims=64),
        odd1=dict(tokens=37, heads=3, kv_heads=1, dims=33),
        odd2=dict(tokens=5, heads=7, kv_heads=3, dims=130),
        seed=dict(tokens=256, heads=16, kv_heads=4, dims=128),
        large=dict(tokens=4096, heads=32, kv_heads=8, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("tokens", "heads", "dims"),
        k=normal("tokens", "kv_heads", "dims"),
        w_q=normal("dims", mean=1, deviation=0.2),
        w_k=normal("dims", mean=1, deviation=0.2),
    ),
    outputs=dict(
        q_normed=output("tokens", "heads", "dims"), k_normed=output("tokens", "kv_heads", "dims")
    ),
    constants=dict(eps=1e-6),
    oracle=normed,
    dtypes=FLOATING,
    flops="5 * tokens * (heads + kv_heads) * dims",
    baseline="mx.fast.rms_norm of each",
)
def qk_norm(q, k, w_q, w_k, eps):
    return mx.fast.rms_norm(q, w_q, eps), mx.fast.rms_norm(k, w_k, eps)
