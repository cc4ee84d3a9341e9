"""Linear layer, batch norm, scaling, softmax."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=6, inner=64, features=64),
    odd=dict(batch=7, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_084_gemm_batch_norm_scaling_softmax(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.batch_norm(y, "bn")
    y = nn.multiply(y, nn.constant("scale", 1))
    return nn.softmax(y, 1)
