"""EfficientNet's block: wider, depthwise of 5 x 5 taps, narrower."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import mb_conv
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=13, width=11, channels=4, filters=6),
    odd=dict(batch=3, height=9, width=10, channels=5, filters=7),
    cpu=dict(batch=1, height=20, width=20, channels=16, filters=24),
    paper=dict(batch=10, height=224, width=224, channels=112, filters=192),
)
def kb3_021_efficientnet_mb_conv(nn, x):
    return mb_conv(nn, x, "", nn.filters, 5, 2, 6)
