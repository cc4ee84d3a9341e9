"""Linear layer, maxima of 2, sum, scaling."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=128, inner=32768, features=32768),
)
def kb2_055_matmul_max_pool_sum_scale(nn, x):
    y = nn.linear(x, "matmul", nn.features)
    y = nn.reshape(
        nn.max_pool(nn.reshape(y, (nn.batch, nn.features, 1)), (2,), (2,), (0,)), (nn.batch, -1)
    )
    y = nn.sum(y, 1)
    return nn.multiply(y, 0.5)
