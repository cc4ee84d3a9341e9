"""Prefix sum: everything up to here."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(n=128), dict(n=200), dict(n=700)],
    inputs=dict(x=uniform("n")),
    outputs=dict(y=output("n")),
    target=dict(device_reads=1, device_writes=1, threadgroup_reads=7, threadgroup_writes=7),
)
def reference(x):
    return np.concatenate([np.cumsum(x[start : start + 128]) for start in range(0, x.size, 128)])
