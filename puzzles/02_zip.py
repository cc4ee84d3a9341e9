"""Zip: two arrays, element by element."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(n=64), dict(n=77), dict(n=500)],
    inputs=dict(a=normal("n"), b=normal("n")),
    outputs=dict(y=output("n")),
    target=dict(device_reads=2, device_writes=1),
)
def reference(a, b):
    return np.abs(a - b)
