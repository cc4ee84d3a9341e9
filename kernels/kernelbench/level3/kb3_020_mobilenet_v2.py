"""MobileNet's second version without residuals; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import (
    conv_bn,
    he,
    inverted,
    linear_near_zero,
    mean_of_pixels,
    relu6,
)
from metalbench.kernelbench.problems.parameters import rand

# Channels behind each, in units, and its stride.
BLOCKS = (
    *((2, 1), (3, 2), (3, 1), (4, 2), (4, 1), (4, 1)),
    *((8, 2), (8, 1), (8, 1), (8, 1), (12, 1), (12, 1), (12, 1)),
    *((20, 2), (20, 1), (20, 1), (40, 1)),
)


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=4, side=64, unit=1, classes=10),
    odd=dict(batch=5, side=69, unit=1, classes=11),
    cpu=dict(batch=2, side=80, unit=1, classes=40),
    paper=dict(batch=10, side=224, unit=8, classes=1000),
    depth=60,
)
def kb3_020_mobilenet_v2(nn, x):
    u = nn.unit
    x = conv_bn(
        nn, x, "features.0", "features.1", 4 * u, 3, stride=2, padding=1, initial=he(3, 4 * u)
    )
    x = relu6(nn, x)
    for layer, (filters, stride) in enumerate(BLOCKS, 3):
        ratio = 0 if layer == 3 else 6
        x = inverted(nn, x, f"features.{layer}.", filters * u, stride, ratio, kaiming=True)
    x = conv_bn(nn, x, "features.20", "features.21", 160 * u, 1, initial=he(1, 160 * u))
    return linear_near_zero(nn, mean_of_pixels(nn, relu6(nn, x)), "classifier.1", nn.classes)
