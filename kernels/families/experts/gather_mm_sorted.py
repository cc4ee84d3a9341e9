"""Rows sorted by expert, each times its expert's matrix: a mixture's layer over a prompt."""

import numpy as np

from metalbench.task import normal, output, task
from metalbench.task.families import expert_indices, multiply_by_expert


def grouped(x, expert, w):
    """Of every expert that has rows the product of these and its matrix, transposed."""
    y = np.zeros_like(x, shape=(len(x), w.shape[1]), order="C")
    for e in np.unique(expert):
        y[expert == e] = x[expert == e] @ w[e].T
    return y


@task(
    sizes=dict(
        small=dict(rows=16, experts=4, features=16, inner=32),
        odd1=dict(rows=111, experts=7, features=29, inner=41),
        odd2=dict(rows=75, experts=64, features=67, inner=30),
        seed=dict(rows=512, experts=8, features=256, inner=256),
        large=dict(rows=8192, experts=32, features=768, inner=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        x=normal("rows", "inner"),
        expert=expert_indices("rows", high="experts", ordered=True),
        w=normal("experts", "features", "inner"),
    ),
    outputs=dict(y=output("rows", "features")),
    oracle=grouped,
    scale=lambda x, expert, w: grouped(np.abs(x), expert, np.abs(w)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * features * inner",
    baseline="mx.gather_mm, sorted",
)
def gather_mm_sorted(x, expert, w):
    return multiply_by_expert(x, w, expert, ordered=True)
