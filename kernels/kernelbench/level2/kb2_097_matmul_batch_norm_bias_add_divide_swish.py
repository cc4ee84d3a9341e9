"""Linear layer, batch norm, bias, division, sigmoid, product."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=6, inner=64, features=64),
    odd=dict(batch=7, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_097_matmul_batch_norm_bias_add_divide_swish(nn, x):
    y = nn.linear(x, "matmul", nn.features)
    y = nn.batch_norm(y, "bn")
    y = nn.add(y, nn.normal("bias"))
    a = nn.divide(y, 1)
    y = nn.sigmoid(a)
    return nn.multiply(y, a)
