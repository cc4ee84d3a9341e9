"""Three linear layers, ReLU between."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=4, inner=96, hidden=64, features=48),
    odd=dict(batch=5, inner=97, hidden=67, features=49),
    cpu=dict(batch=16, inner=512, hidden=512, features=256),
    paper=dict(batch=128, inner=16384, hidden=16384, features=8192),
)
def kb3_001_mlp(nn, x):
    for i in range(2):
        x = nn.relu(nn.linear(x, f"network.{2 * i}", nn.hidden))
    return nn.linear(x, "network.4", nn.features)
