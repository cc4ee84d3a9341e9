"""Linear layer, dropout, softmax."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import drawn, rand

# What dropout keeps is given: drawn by the reference itself, no result could be right.
keep = drawn(
    "batch",
    "features",
    text="1, one in five 0",
    draw=lambda random, shape: random.random(shape) < 0.8,
)


@problem(
    inputs=dict(x=rand("batch", "inner"), keep=keep),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=128, inner=16384, features=16384),
)
def kb2_066_matmul_dropout_softmax(nn, x, keep):
    y = nn.linear(x, "matmul", nn.features)
    y = nn.dropout(y, keep, 0.2)
    return nn.softmax(y, 1)
