"""Linear layer, group norm, sigmoid, product, scaling, sigmoid, product."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64, groups=8),
    odd=dict(batch=3, inner=61, features=66, groups=6),
    cpu=dict(batch=64, inner=512, features=512, groups=16),
    paper=dict(batch=1024, inner=8192, features=8192, groups=256),
    divides=dict(features="groups"),
)
def kb2_088_gemm_group_norm_swish_multiply_swish(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    a = nn.group_norm(y, "group_norm", nn.groups)
    y = nn.sigmoid(a)
    y = nn.multiply(y, a)
    b = nn.multiply(y, nn.normal("multiply_weight", nn.features))
    y = nn.sigmoid(b)
    return nn.multiply(y, b)
