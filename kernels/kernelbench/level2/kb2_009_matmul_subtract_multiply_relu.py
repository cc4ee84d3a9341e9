"""Linear layer, difference, scaling, ReLU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_009_matmul_subtract_multiply_relu(nn, x):
    y = nn.linear(x, "linear", nn.features)
    y = nn.subtract(y, 2)
    y = nn.multiply(y, 1.5)
    return nn.relu(y)
