"""Row sums: SIMD-groups."""

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(rows=8, cols=128), dict(rows=3, cols=100), dict(rows=10, cols=300)],
    inputs=dict(x=uniform("rows", "cols")),
    outputs=dict(y=output("rows")),
    target=dict(
        device_reads="ceil_div(cols, 128)",
        device_writes=1,
        threadgroup_reads=1,
        threadgroup_writes=1,
    ),
)
def reference(x):
    return x.sum(axis=1)
