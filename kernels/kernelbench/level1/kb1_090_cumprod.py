"""Products of every row up to each element."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import drawn

# Of numbers over [0, 1) products vanish after some hundred columns: about 1 they do not.
near_one = drawn(
    "rows",
    "cols",
    text="uniform(0, 1)",
    draw=lambda random, shape: random.random(shape),
    wide=lambda random, shape: 1 + 0.5 * random.standard_normal(shape) / shape[1] ** 0.5,
)


def chance(x):
    """About the square root of the number of factors remains of as many roundings."""
    return np.maximum(1, np.sqrt(np.arange(1, x.shape[1] + 1)) / 4)


@problem(
    inputs=dict(x=near_one),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=4096),
    paper=dict(rows=32768, cols=32768),
    cut="rows",
    depth=chance,
)
def kb1_090_cumprod(nn, x):
    return nn.cumprod(x, 1)
