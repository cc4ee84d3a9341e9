"""Linear layer, minimum with a constant, difference."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=128, inner=16384, features=16384),
)
def kb2_068_matmul_min_subtract(nn, x):
    # Its name in PyTorch, `constant`, is a keyword of Metal's.
    constant = nn.constant("constant_", 2)
    y = nn.linear(x, "linear", nn.features)
    return nn.subtract(nn.minimum(y, constant), constant)
