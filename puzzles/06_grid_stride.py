"""Fewer threads than elements: a loop over the grid."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(n=96), dict(n=50), dict(n=500), dict(n=1001)],
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    target=dict(device_reads="ceil_div(n, 96)", device_writes="ceil_div(n, 96)"),
)
def reference(x):
    return x / (1 + np.abs(x))
