"""The sum of a matrix and the transposed view of another."""

from metalbench.task import normal, output, task
from metalbench.task.families import FLOATING, ROWS


@task(
    sizes=ROWS,
    gpu_headlines=("large",),
    inputs=dict(a=normal("rows", "cols"), b=normal("cols", "rows")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda a, b: a + b.T,
    scale=lambda a, b: abs(a) + abs(b.T),
    dtypes=FLOATING,
    flops="rows * cols",
    baseline="mx.add of a view",
)
def add_transposed(a, b):
    return a + b.T
