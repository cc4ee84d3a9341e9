"""The different values of every row in ascending order, and how often each occurs."""

from metalbench.task import integers, output, task
from metalbench.task.families import LONG_ROWS, distinct_values, mlx_distinct_values


@task(
    sizes=LONG_ROWS,
    gpu_headlines=("large",),
    inputs=dict(x=integers("rows", "cols", low=-50000, high="2 * cols", dtype="int32")),
    outputs=dict(
        values=output("rows", "cols", dtype="int32"),
        lengths=output("rows", "cols", dtype="uint32"),
        number=output("rows", dtype="uint32"),
    ),
    oracle=distinct_values,
    flops="12 * rows * cols",
    baseline="mx.sort, mx.cumsum and mx.at[].add",
)
def unique(x):
    return mlx_distinct_values(x)
