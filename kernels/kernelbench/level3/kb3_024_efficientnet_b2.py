"""EfficientNet-B2 whose gates stand in the way; channels are multiples of `unit`.

With the problem's own batch of 2, its batch norms see two values each, and rounding errors grow to
the size of the results. `paper` has a batch of 16.
"""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import conv_bn, depthwise_bn, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand

# Channels behind each, in units, and its stride.
BLOCKS = ((6, 1), (9, 2), (12, 2), (18, 2), (24, 1))


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=24, side=8, unit=2, classes=10),
    odd=dict(batch=25, side=9, unit=2, classes=11),
    cpu=dict(batch=16, side=16, unit=2, classes=40),
    paper=dict(batch=16, side=224, unit=16, classes=1000),
    multiples=dict(unit=2),
    depth=4000,
)
def kb3_024_efficientnet_b2(nn, x):
    u = nn.unit
    x = nn.relu(conv_bn(nn, x, "conv1", "bn1", 2 * u, 3, stride=2, padding=1))
    for i, (filters, stride) in enumerate(BLOCKS, 1):
        name, inner = f"mbconv{i}.", (3 if i == 1 else 6) * x.shape[-1]
        x = nn.relu(conv_bn(nn, x, f"{name}0", f"{name}1", inner, 1))
        x = nn.relu(depthwise_bn(nn, x, f"{name}3", f"{name}4", 3, stride))
        # What should be a gate is the way itself: from here on there is one pixel.
        x = nn.mean(x, (1, 2), keep=True)
        x = nn.relu(nn.conv(x, f"{name}7", inner // 4, 1, bias=False))
        x = nn.sigmoid(nn.conv(x, f"{name}9", inner, 1, bias=False))
        x = conv_bn(nn, x, f"{name}11", f"{name}12", filters * u, 1)
    x = nn.relu(conv_bn(nn, x, "conv_final", "bn_final", 88 * u, 1))
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
