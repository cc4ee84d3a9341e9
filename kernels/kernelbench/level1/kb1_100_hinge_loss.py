"""The mean of max(1 - p t, 0), a sign t for each column."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import drawn, rand

signs = drawn(
    "n",
    text="-1 or 1",
    draw=lambda random, shape: 2.0 * random.integers(0, 2, shape) - 1,
)


@problem(
    inputs=dict(predictions=rand("n", "n"), targets=signs),
    small=dict(n=64),
    odd=dict(n=67),
    cpu=dict(n=512),
    paper=dict(n=32768),
    cut="n",
)
def kb1_100_hinge_loss(nn, predictions, targets):
    return nn.mean(nn.clamp(nn.subtract(1, nn.multiply(predictions, targets)), 0))
