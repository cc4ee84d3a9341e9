"""ShuffleNet's unit of three groups."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import shuffle_unit
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=9, width=7, channels=12, filters=24),
    odd=dict(batch=3, height=8, width=11, channels=9, filters=36),
    cpu=dict(batch=1, height=24, width=24, channels=24, filters=48),
    paper=dict(batch=10, height=224, width=224, channels=240, filters=480),
    multiples=dict(channels=3, filters=12),
)
def kb3_025_shufflenet_unit(nn, x):
    return shuffle_unit(nn, x, "", nn.filters, shortcut=True)
