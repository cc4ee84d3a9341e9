"""Linear layer, sigmoid, product, division, clamp, tanh, clamp."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_081_gemm_swish_divide_clamp_tanh_clamp(nn, x):
    a = nn.linear(x, "gemm", nn.features)
    y = nn.sigmoid(a)
    y = nn.multiply(y, a)
    y = nn.divide(y, 2)
    y = nn.clamp(y, -1, 1)
    y = nn.tanh(y)
    return nn.clamp(y, -1, 1)
