"""MobileNet; channels are multiples of `unit`, 32 of them at first."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import conv_bn, depthwise_bn, flat
from metalbench.kernelbench.problems.parameters import rand

# Channels behind each, in units, and its stride.
BLOCKS = (
    *((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2)),
    *[(16, 1)] * 5,
    *((32, 2), (32, 1)),
)


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=193, unit=2, classes=10),
    odd=dict(batch=3, side=201, unit=2, classes=11),
    cpu=dict(batch=1, side=193, unit=2, classes=40),
    paper=dict(batch=10, side=224, unit=32, classes=1000),
    depth=60,
)
def kb3_019_mobilenet_v1(nn, x):
    u = nn.unit
    x = nn.relu(conv_bn(nn, x, "model.0.0", "model.0.1", u, 3, stride=2, padding=1))
    for layer, (filters, stride) in enumerate(BLOCKS, 1):
        name = f"model.{layer}."
        x = nn.relu(depthwise_bn(nn, x, f"{name}0", f"{name}1", 3, stride))
        x = nn.relu(conv_bn(nn, x, f"{name}3", f"{name}4", filters * u, 1))
    x = flat(nn, nn.avg_pool(x, (7, 7), (7, 7), (0, 0)))
    return nn.linear(x, "fc", nn.classes)
