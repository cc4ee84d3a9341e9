"""One token of the gated delta rule for a batch of sequences, each with its own state."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task, uniform
from metalbench.task.recurrences import delta_rule, state_input, unit_vectors


def stepped(q, k, v, decay, beta, state, terms=False):
    """Every sequence is one token; its heads have separate states."""
    each = [
        delta_rule(*(part[None, b] for part in (q, k, v, decay, beta)), state=state[b], terms=terms)
        for b in range(len(q))
    ]
    return np.concatenate([y for y, _ in each]), np.stack([left for _, left in each])


@task(
    sizes=dict(
        small=dict(batch=2, heads=2, k_heads=1, rows=16, cols=32),
        odd1=dict(batch=1, heads=6, k_heads=2, rows=13, cols=33),
        odd2=dict(batch=3, heads=3, k_heads=3, rows=7, cols=130),
        seed=dict(batch=4, heads=16, k_heads=8, rows=128, cols=128),
        large=dict(batch=32, heads=32, k_heads=16, rows=128, cols=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=unit_vectors("batch", "k_heads", "cols"),
        k=unit_vectors("batch", "k_heads", "cols"),
        v=normal("batch", "heads", "rows"),
        decay=uniform("batch", "heads", low=0.8, high=1.0),
        beta=uniform("batch", "heads", low=0.1, high=1.0),
        state=state_input("batch", "heads", "rows", "cols"),
    ),
    outputs=dict(
        y=output("batch", "heads", "rows"),
        left=output("batch", "heads", "rows", "cols", dtype="float32"),
    ),
    draw=lambda random: dict(
        batch=int(random.integers(1, 5)),
        heads=4,
        k_heads=int(2 ** random.integers(0, 3)),
        rows=int(random.integers(8, 65)),
        cols=int(random.integers(16, 129)),
    ),
    oracle=lambda q, k, v, decay, beta, state: stepped(q, k, v, decay, beta, state),
    scale=lambda q, k, v, decay, beta, state: stepped(q, k, v, decay, beta, state, True),
    dtypes=("float32", "float16", "bfloat16"),
    flops="7 * batch * heads * rows * cols",
    baseline="mx.fast.gated_delta_update",
)
def gated_delta_step(q, k, v, decay, beta, state):
    y, left = mx.fast.gated_delta_update(*(x[:, None] for x in (q, k, v, decay, beta)), state)
    return y[:, 0], left
