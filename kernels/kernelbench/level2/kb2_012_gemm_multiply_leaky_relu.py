"""Linear layer, scaling, leaky ReLU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_012_gemm_multiply_leaky_relu(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.multiply(y, 2)
    return nn.leaky_relu(y, 0.1)
