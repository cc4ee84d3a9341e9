"""Threadgroup memory: the rank of each element in its block."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(n=64), dict(n=100), dict(n=300)],
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n", dtype="uint32")),
    target=dict(
        device_reads=1, device_writes=1, threadgroup_reads="min(n, 64)", threadgroup_writes=1
    ),
)
def reference(x):
    blocks = [x[start : start + 64] for start in range(0, x.size, 64)]
    return np.concatenate([(each[None, :] < each[:, None]).sum(axis=1) for each in blocks])
