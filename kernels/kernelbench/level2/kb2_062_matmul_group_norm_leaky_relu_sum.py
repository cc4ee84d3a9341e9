"""Linear layer, group norm, leaky ReLU, sum."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64, groups=8),
    odd=dict(batch=3, inner=61, features=66, groups=6),
    cpu=dict(batch=64, inner=512, features=512, groups=32),
    paper=dict(batch=1024, inner=8192, features=8192, groups=512),
    divides=dict(features="groups"),
)
def kb2_062_matmul_group_norm_leaky_relu_sum(nn, x):
    y = nn.linear(x, "fc", nn.features)
    y = nn.group_norm(y, "gn", nn.groups)
    y = nn.leaky_relu(y, 0.01)
    return nn.add(y, y)
