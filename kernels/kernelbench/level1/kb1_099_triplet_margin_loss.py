"""The mean of max(|a - p| - |a - n| + 1, 0), norms of rows."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import drawn, rand


def scaled(random, shape):
    """Over [0, 1), all times one number over [0, 1)."""
    return random.random(shape) * random.random()


def wide(random, shape):
    """Of both signs, and further apart."""
    return 2 * random.standard_normal(shape)


@problem(
    inputs=dict(
        anchor=drawn("rows", "cols", text="rand, times one number", draw=scaled, wide=wide),
        positive=rand("rows", "cols"),
        negative=rand("rows", "cols"),
    ),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=2048),
    paper=dict(rows=32768, cols=8192),
    cut="rows",
)
def kb1_099_triplet_margin_loss(nn, anchor, positive, negative):
    return nn.triplet_margin_loss(anchor, positive, negative)
