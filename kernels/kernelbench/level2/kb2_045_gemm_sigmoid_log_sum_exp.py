"""Linear layer, sigmoid, linear layer, logsumexp."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, hidden=64, features=32),
    odd=dict(batch=3, inner=61, hidden=66, features=37),
    cpu=dict(batch=64, inner=512, hidden=512, features=512),
    paper=dict(batch=16384, inner=2048, hidden=4096, features=1024),
)
def kb2_045_gemm_sigmoid_log_sum_exp(nn, x):
    y = nn.linear(x, "linear1", nn.hidden)
    y = nn.sigmoid(y)
    y = nn.linear(y, "linear2", nn.features)
    return nn.logsumexp(y, 1)
