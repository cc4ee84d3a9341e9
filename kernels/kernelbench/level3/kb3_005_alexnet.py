"""AlexNet; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import flat, max_pool_square
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=63, unit=2, hidden=24, classes=10),
    odd=dict(batch=1, side=67, unit=3, hidden=37, classes=11),
    cpu=dict(batch=1, side=63, unit=8, hidden=256, classes=100),
    paper=dict(batch=1024, side=224, unit=32, hidden=4096, classes=1000),
)
def kb3_005_alexnet(nn, x):
    u = nn.unit
    x = nn.relu(nn.conv(x, "conv1", 3 * u, 11, stride=4, padding=2))
    x = nn.relu(nn.conv(max_pool_square(nn, x, 3, 2), "conv2", 8 * u, 5, padding=2))
    x = max_pool_square(nn, x, 3, 2)
    for i, filters in enumerate((12, 12, 8), 3):
        x = nn.relu(nn.conv(x, f"conv{i}", filters * u, 3, padding=1))
    x = flat(nn, max_pool_square(nn, x, 3, 2))
    for name in ("fc1", "fc2"):
        x = nn.relu(nn.linear(x, name, nn.hidden))
    return nn.linear(x, "fc3", nn.classes)
