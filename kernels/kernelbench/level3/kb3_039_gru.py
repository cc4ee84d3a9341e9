"""Six GRU layers: all outputs."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.layers import gru
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("steps", "batch", "inner"), h0=rand(6, "batch", "hidden")),
    small=dict(steps=7, batch=2, inner=8, hidden=12),
    odd=dict(steps=9, batch=3, inner=7, hidden=11),
    cpu=dict(steps=10, batch=4, inner=32, hidden=32),
    paper=dict(steps=512, batch=10, inner=128, hidden=256),
)
def kb3_039_gru(nn, x, h0):
    y, _ = gru(nn, x, h0, layers=6)
    return y
