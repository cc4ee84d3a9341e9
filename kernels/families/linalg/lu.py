"""LU factors with partial pivoting in one matrix, and the row that each row was exchanged with."""

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.matrices import factor_lu, with_clear_pivots

MATRIX = ("batch", "n", "n")


@task(
    sizes=dict(
        small=dict(batch=3, n=24),
        odd1=dict(batch=2, n=67),
        odd2=dict(batch=5, n=1),
        odd3=dict(batch=1, n=301),
        seed=dict(batch=64, n=64),
        large=dict(batch=1024, n=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=with_clear_pivots(*MATRIX)),
    outputs=dict(y=output(*MATRIX), pivots=output("batch", "n", dtype="uint32")),
    oracle=factor_lu,
    flops="2 * batch * n * n * n / 3",
    baseline="mx.linalg.lu_factor, on the processor",
)
def lu(a):
    return mx.linalg.lu_factor(a, stream=mx.cpu)
