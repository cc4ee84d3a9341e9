"""Pooling: the largest of five neighbours."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(n=100), dict(n=256), dict(n=333)],
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    target=dict(device_reads=2, device_writes=1, threadgroup_reads=4, threadgroup_writes=2),
)
def reference(x):
    padded = np.pad(x, 2, constant_values=-np.inf)
    return np.max([padded[k : k + x.size] for k in range(5)], axis=0)
