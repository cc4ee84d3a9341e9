"""Seventeen narrow linear layers, ReLU between."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=4, inner=128, hidden=64, features=128),
    odd=dict(batch=5, inner=131, hidden=61, features=127),
    cpu=dict(batch=16, inner=512, hidden=192, features=512),
    paper=dict(batch=1024, inner=8192, hidden=1024, features=8192),
)
def kb3_003_deep_narrow_mlp(nn, x):
    for i in range(16):
        x = nn.relu(nn.linear(x, f"network.{2 * i}", nn.hidden))
    return nn.linear(x, "network.32", nn.features)
