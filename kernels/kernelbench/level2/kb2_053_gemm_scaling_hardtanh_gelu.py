"""Linear layer, scaling, clamp, GELU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=2048, inner=8192, features=8192),
)
def kb2_053_gemm_scaling_hardtanh_gelu(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.multiply(y, 0.5)
    y = nn.clamp(y, -2, 2)
    return nn.gelu(y)
