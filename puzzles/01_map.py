"""Map: one thread for each element."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(n=64), dict(n=100), dict(n=1000)],
    inputs=dict(x=uniform("n")),
    outputs=dict(y=output("n")),
    target=dict(device_reads=1, device_writes=1),
)
def reference(x):
    return x * (1 - x)
