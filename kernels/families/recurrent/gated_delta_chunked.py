"""Gated delta rule over a long prompt, from a state to the next, some tokens at a time."""

import mlx.core as mx

from metalbench.task import normal, output, task, uniform
from metalbench.task.recurrences import delta_rule, state_of, unit


@task(
    sizes=dict(
        small=dict(tokens=5, heads=2, k_heads=1, rows=16, cols=32),
        odd1=dict(tokens=37, heads=6, k_heads=2, rows=13, cols=33),
        odd2=dict(tokens=67, heads=3, k_heads=3, rows=7, cols=130),
        seed=dict(tokens=256, heads=8, k_heads=4, rows=64, cols=64),
        large=dict(tokens=2048, heads=32, k_heads=16, rows=128, cols=128),
    ),
    gpu_headline="large",
    inputs=dict(
        q=unit("tokens", "k_heads", "cols"),
        k=unit("tokens", "k_heads", "cols"),
        v=normal("tokens", "heads", "rows"),
        decay=uniform("tokens", "heads", low=0.8, high=1.0),
        beta=uniform("tokens", "heads", low=0.1, high=1.0),
        state=state_of("heads", "rows", "cols"),
    ),
    outputs=dict(
        y=output("tokens", "heads", "rows"),
        left=output("heads", "rows", "cols", dtype="float32"),
    ),
    draw=lambda random: dict(
        tokens=int(random.integers(5, 257)),
        heads=4,
        k_heads=int(2 ** random.integers(0, 3)),
        rows=int(random.integers(8, 65)),
        cols=int(random.integers(16, 129)),
    ),
    oracle=lambda q, k, v, decay, beta, state: delta_rule(q, k, v, decay, beta, state=state),
    scale=lambda q, k, v, decay, beta, state: delta_rule(
        q, k, v, decay, beta, state=state, terms=True
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * tokens * heads * rows * cols",
    baseline="mx.fast.gated_delta_update",
)
def gated_delta_chunked(q, k, v, decay, beta, state):
    given = (each[None] for each in (q, k, v, decay, beta, state))
    y, left = mx.fast.gated_delta_update(*given)
    return y[0], left[0]
