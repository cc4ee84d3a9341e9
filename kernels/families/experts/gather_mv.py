"""Tokens times the matrices of their experts, plain weights: a mixture's layer when decoding."""

import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import expert_indices, multiply_by_expert


def gathered(x, expert, w):
    """Each token's product with its expert's matrix."""
    return np.einsum("tfi,ti->tf", w[expert], x)


@task(
    sizes=dict(
        small=dict(tokens=4, experts=4, features=16, inner=32),
        odd1=dict(tokens=7, experts=3, features=29, inner=41),
        odd2=dict(tokens=3, experts=11, features=5, inner=1030),
        seed=dict(tokens=8, experts=16, features=256, inner=1024),
        large=dict(tokens=64, experts=64, features=2048, inner=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("tokens", "inner"),
        expert=expert_indices("tokens", high="experts"),
        w=normal("experts", "features", "inner"),
    ),
    outputs=dict(y=output("tokens", "features")),
    oracle=gathered,
    scale=lambda x, expert, w: gathered(np.abs(x), expert, np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * tokens * features * inner",
    bytes="itemsize * (min(tokens, experts) * features * inner + tokens * (features + inner))",
    baseline="mx.gather_mm",
)
def gather_mv(x, expert, w):
    return multiply_by_expert(x, w, expert)
