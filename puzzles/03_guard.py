"""Guard: more threads than elements."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(n=128), dict(n=100), dict(n=9), dict(n=300)],
    inputs=dict(x=normal("n", deviation=2.0)),
    outputs=dict(y=output("n")),
    target=dict(device_reads=1, device_writes=1),
)
def reference(x):
    return np.clip(x, -1, 1)
