"""Linear layer, sum, largest, mean, logsumexp, logsumexp."""

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
def kb2_018_matmul_sum_max_avg_pool_log_sum_exp_log_sum_exp(nn, x):
    y = nn.linear(x, "linear", nn.features)
    y = nn.sum(y, 1, keep=True)
    y = nn.max(y, 1, keep=True)
    y = nn.mean(y, 1, keep=True)
    y = nn.logsumexp(y, 1, keep=True)
    return nn.logsumexp(y, 1, keep=True)
