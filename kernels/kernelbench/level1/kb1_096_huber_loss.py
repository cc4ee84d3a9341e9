"""The mean Huber loss, smooth within 1."""

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
        predictions=drawn("rows", "cols", text="rand, times one number", draw=scaled, wide=wide),
        targets=rand("rows", "cols"),
    ),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=4096),
    paper=dict(rows=32768, cols=32768),
    cut="rows",
)
def kb1_096_huber_loss(nn, predictions, targets):
    return nn.huber_loss(predictions, targets)
