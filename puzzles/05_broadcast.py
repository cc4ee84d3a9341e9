"""Broadcast: every element with every other."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import normal, output


@puzzle(
    sizes=[dict(rows=8, cols=16), dict(rows=9, cols=33), dict(rows=20, cols=50)],
    inputs=dict(a=normal("rows"), b=normal("cols")),
    outputs=dict(y=output("rows", "cols")),
    target=dict(device_reads=2, device_writes=1),
)
def reference(a, b):
    return a[:, None] * b[None, :]
