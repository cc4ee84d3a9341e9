"""Product of matrices, division, sum over a row, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
    avoidable=True,
)
def kb2_014_gemm_divide_sum_scaling(nn, x):
    weight = nn.normal("weight", nn.features, nn.inner)
    y = nn.divide(nn.matmul(x, nn.swapped(weight)), 2)
    return nn.multiply(nn.sum(y, 1, keep=True), 1.5)
