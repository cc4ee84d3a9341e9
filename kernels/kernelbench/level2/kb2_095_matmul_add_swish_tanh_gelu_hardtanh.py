"""Linear layer, sum, sigmoid, product, tanh, GELU, clamp."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_095_matmul_add_swish_tanh_gelu_hardtanh(nn, x):
    y = nn.linear(x, "matmul", nn.features)
    a = nn.add(y, nn.normal("add_value", nn.features))
    y = nn.sigmoid(a)
    y = nn.multiply(y, a)
    y = nn.tanh(y)
    y = nn.gelu(y)
    return nn.clamp(y, -1, 1)
