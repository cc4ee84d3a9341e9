"""Layer norm over pixels and channels together."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=16, width=16, channels=16),
    odd=dict(batch=3, height=17, width=19, channels=7),
    cpu=dict(batch=2, height=48, width=48, channels=32),
    paper=dict(batch=16, height=256, width=256, channels=64),
)
def kb1_040_layer_norm(nn, x):
    y = nn.norm(x, (1, 2, 3))
    return nn.affine(y, "ln", nn.height, nn.width, nn.channels)
