"""Linear layer, product, sum."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=16384, inner=4096, features=4096),
)
def kb2_040_matmul_scaling_residual_add(nn, x):
    a = nn.linear(x, "matmul", nn.features)
    y = nn.multiply(a, 0.5)
    return nn.add(y, a)
