"""Linear layer, scaling, sum, clamp, logsumexp, Mish, product."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_022_matmul_scale_residual_add_clamp_log_sum_exp_mish(nn, x):
    y = nn.linear(x, "matmul", nn.features)
    y = nn.multiply(y, 2)
    y = nn.add(y, y)
    y = nn.clamp(y, -10, 10)
    a = nn.logsumexp(y, 1, keep=True)
    y = nn.mish(a)
    return nn.multiply(y, a)
