"""Linear layer, largest, mean, difference, GELU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_080_gemm_max_subtract_gelu(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.max(y, 1, keep=True)
    # The mean of one number is that number, and this always 0: with another fraction it is not.
    fraction = nn.constant("fraction", 1)
    return nn.gelu(nn.subtract(y, nn.mean(y, 1, keep=True) * fraction))
