"""Gated delta rule with one decay for every column, from a state to the next (KDA)."""

import mlx.core as mx

from metalbench.task import task
from metalbench.task.recurrences import delta_inputs, delta_outputs, delta_rule, delta_size_sampler


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, k_heads=1, rows=16, cols=32),
        odd1=dict(tokens=37, heads=6, k_heads=2, rows=13, cols=33),
        odd2=dict(tokens=3, heads=3, k_heads=3, rows=7, cols=130),
        seed=dict(tokens=64, heads=8, k_heads=4, rows=64, cols=64),
        large=dict(tokens=2048, heads=32, k_heads=32, rows=128, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=delta_inputs("tokens", "heads", "cols"),
    outputs=delta_outputs(),
    draw=delta_size_sampler(64),
    oracle=lambda q, k, v, decay, beta, state: delta_rule(q, k, v, decay, beta, state=state),
    scale=lambda q, k, v, decay, beta, state: delta_rule(
        q, k, v, decay, beta, state=state, terms=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * tokens * heads * rows * cols",
    baseline="mx.fast.gated_delta_update",
)
def gated_delta_vector(q, k, v, decay, beta, state):
    given = (each[None] for each in (q, k, v, decay, beta, state))
    y, left = mx.fast.gated_delta_update(*given)
    return y[0], left[0]
