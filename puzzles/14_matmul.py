"""Tiled matrix product: everything together."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(m=16, n=16, k=32), dict(m=20, n=30, k=13), dict(m=33, n=17, k=50)],
    inputs=dict(a=uniform("m", "k"), b=uniform("k", "n")),
    outputs=dict(c=output("m", "n")),
    target=dict(
        device_reads="2 * ceil_div(k, 16)",
        device_writes=1,
        threadgroup_reads="2 * k",
        threadgroup_writes="2 * ceil_div(k, 16)",
    ),
)
def reference(a, b):
    return a @ b
