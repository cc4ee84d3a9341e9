"""Linear layer, sigmoid, product, bias, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64, groups=8),
    odd=dict(batch=3, inner=61, features=66, groups=6),
    cpu=dict(batch=64, inner=512, features=512, groups=8),
    paper=dict(batch=32768, inner=1024, features=4096, groups=64),
    divides=dict(features="groups"),
)
def kb2_037_matmul_swish_sum_group_norm(nn, x):
    a = nn.linear(x, "matmul", nn.features)
    y = nn.sigmoid(a)
    y = nn.multiply(y, a)
    y = nn.add(y, nn.normal("bias", nn.features))
    return nn.group_norm(y, "group_norm", nn.groups)
