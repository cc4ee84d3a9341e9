"""Linear layer, difference, mean, logsumexp, GELU, sum."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=61),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=2048, inner=8192, features=8192),
    avoidable=True,
)
def kb2_051_gemm_subtract_global_avg_pool_log_sum_exp_gelu_residual_add(nn, x):
    y = nn.linear(x, "gemm", nn.inner)
    y = nn.subtract(y, nn.normal("subtract", nn.inner))
    y = nn.mean(y, 1, keep=True)
    y = nn.gelu(nn.logsumexp(y, 1, keep=True))
    return nn.add(y, x)
