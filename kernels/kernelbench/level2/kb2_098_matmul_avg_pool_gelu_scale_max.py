"""Linear layer, means of 16, GELU, scaling, largest."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
)
def kb2_098_matmul_avg_pool_gelu_scale_max(nn, x):
    y = nn.linear(x, "matmul", nn.features)
    y = nn.reshape(
        nn.avg_pool(nn.reshape(y, (nn.batch, nn.features, 1)), (16,), (16,), (0,)), (nn.batch, -1)
    )
    y = nn.gelu(y)
    y = nn.multiply(y, 2)
    return nn.max(y, 1)
