"""GELU by a hyperbolic tangent, as minGPT writes it."""

import math

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("rows", "cols")),
    small=dict(rows=2, cols=256),
    odd=dict(rows=3, cols=771),
    cpu=dict(rows=16, cols=16384),
    paper=dict(rows=8192, cols=8192),
)
def kb1_088_mingpt_new_gelu(nn, x):
    inner = nn.add(x, nn.multiply(nn.cube(x), 0.044715))
    share = nn.add(nn.tanh(nn.multiply(inner, math.sqrt(2 / math.pi))), 1)
    return nn.multiply(nn.multiply(x, 0.5), share)
