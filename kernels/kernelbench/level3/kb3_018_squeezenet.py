"""SqueezeNet; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import fire, max_pool_square, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand

MODULES = (
    (3, 1, 4),
    (4, 1, 4),
    (5, 2, 8),
    (7, 2, 8),
    (8, 3, 12),
    (9, 3, 12),
    (10, 4, 16),
    (12, 4, 16),
)


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=67, unit=1, classes=10),
    odd=dict(batch=1, side=72, unit=1, classes=11),
    cpu=dict(batch=1, side=96, unit=1, classes=40),
    paper=dict(batch=64, side=512, unit=16, classes=1000),
)
def kb3_018_squeezenet(nn, x):
    u = nn.unit
    x = max_pool_square(nn, nn.relu(nn.conv(x, "features.0", 6 * u, 7, stride=2)), 3, 2, ceil=True)
    for layer, squeezed, expanded in MODULES:
        x = fire(nn, x, f"features.{layer}.", squeezed * u, expanded * u)
        if layer in (5, 10):
            x = max_pool_square(nn, x, 3, 2, ceil=True)
    return mean_of_pixels(nn, nn.relu(nn.conv(x, "classifier.1", nn.classes, 1)))
