"""Dot product: many threads, one number."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(n=128), dict(n=100), dict(n=1000)],
    inputs=dict(a=uniform("n"), b=uniform("n")),
    outputs=dict(y=output(1)),
    target=dict(
        device_reads="2 * ceil_div(n, 128)",
        device_writes=1,
        threadgroup_reads=7,
        threadgroup_writes=1,
    ),
)
def reference(a, b):
    return (a * b).sum(keepdims=True)
