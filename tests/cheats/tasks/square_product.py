"""Product of two square matrices."""

import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=24), odd1=dict(n=33), seed=dict(n=128)),
    inputs=dict(a=normal("n", "n"), b=normal("n", "n")),
    outputs=dict(c=output("n", "n")),
    oracle=lambda a, b: a @ b,
    scale=lambda a, b: np.abs(a) @ np.abs(b),
    flops="2 * n * n * n",
)
def square_product(a, b):
    return a @ b
