"""The nearest whole number, of two the even one, elementwise."""

import mlx.core as mx
import numpy as np

from metalbench.task import uniform
from metalbench.task.families import elementwise
from metalbench.task.inputs import Variation


def halves(values, _):
    """Where rounding has two neighbours to choose from."""
    return np.round(values * 2) / 2


round = elementwise(
    "round",
    lambda x: mx.round(x),
    lambda x: np.rint(x),
    baseline="mx.round",
    flops=1,
    x=uniform("rows", "cols", low=-20, high=20).also(Variation("rounded to halves", halves)),
)
