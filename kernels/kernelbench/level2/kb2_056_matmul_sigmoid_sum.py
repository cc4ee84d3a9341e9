"""Linear layer, sigmoid, sum."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=128, inner=32768, features=32768),
)
def kb2_056_matmul_sigmoid_sum(nn, x):
    y = nn.linear(x, "linear", nn.features)
    y = nn.sigmoid(y)
    return nn.sum(y, 1, keep=True)
