"""Three wide linear layers, ReLU between."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=4, inner=64, hidden=128, features=64),
    odd=dict(batch=5, inner=67, hidden=131, features=65),
    cpu=dict(batch=16, inner=384, hidden=768, features=384),
    paper=dict(batch=128, inner=16384, hidden=32768, features=16384),
)
def kb3_002_shallow_wide_mlp(nn, x):
    for i in range(2):
        x = nn.relu(nn.linear(x, f"network.{2 * i}", nn.hidden))
    return nn.linear(x, "network.4", nn.features)
