"""The Kullback-Leibler divergence of distributions, a mean over rows."""

import numpy as np

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import drawn


def scaled(random, shape):
    """Over [0, 1), all times one number over [0, 1)."""
    return random.random(shape) * random.random()


def softmax(x):
    """Of each row, in place: at a GPU's sizes other ways take longer than all that is measured."""
    for row in x:
        np.subtract(row, row.max(), out=row)
        np.exp(row, out=row)
        np.divide(row, row.sum(), out=row)
    return x


def shares(draw):
    """Rows that are softmax of what is drawn; then of normal numbers, further apart."""
    return drawn(
        "rows",
        "cols",
        text="softmax of rand",
        draw=lambda random, shape: softmax(draw(random, shape)),
        wide=lambda random, shape: softmax(random.standard_normal(shape)),
    )


@problem(
    inputs=dict(
        predictions=shares(scaled), targets=shares(lambda random, shape: random.random(shape))
    ),
    small=dict(rows=2, cols=64),
    odd=dict(rows=3, cols=131),
    cpu=dict(rows=64, cols=4096),
    paper=dict(rows=16384, cols=16384),
    cut="rows",
    magnitude=1e-2,
)
def kb1_098_kl_div_loss(nn, predictions, targets):
    return nn.kl_div(nn.log(predictions), targets)
