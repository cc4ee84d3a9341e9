"""Map in two dimensions: rows and columns."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(rows=8, cols=16), dict(rows=5, cols=33), dict(rows=20, cols=50)],
    inputs=dict(x=uniform("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    target=dict(device_reads=1, device_writes=1),
)
def reference(x):
    return 1 - x
