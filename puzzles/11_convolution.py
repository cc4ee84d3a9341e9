"""Convolution in one dimension: a window with weights."""

import numpy as np

from metalbench.puzzle.puzzle import puzzle
from metalbench.task import output, uniform


@puzzle(
    sizes=[dict(n=72), dict(n=100), dict(n=300)],
    inputs=dict(x=uniform("n"), w=uniform(9)),
    outputs=dict(y=output("n - 8")),
    target=dict(device_reads=2, device_writes=1, threadgroup_reads=17, threadgroup_writes=2),
)
def reference(x, w):
    return np.lib.stride_tricks.sliding_window_view(x, 9) @ w
