"""Blocks: threadgroups in two dimensions."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(rows=16, cols=24), dict(rows=9, cols=20), dict(rows=30, cols=35)],
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    target=dict(device_reads=1, device_writes=1),
)
def reference(x):
    blocks = [x[:, start : start + 8][:, ::-1] for start in range(0, x.shape[1], 8)]
    return np.concatenate(blocks, axis=1)
