"""Between dense blocks: batch norm, ReLU, pixels' convolution, means of 2 x 2."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import transition
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=9, width=11, channels=6, filters=10),
    odd=dict(batch=3, height=8, width=7, channels=5, filters=9),
    cpu=dict(batch=2, height=32, width=32, channels=32, filters=64),
    paper=dict(batch=128, height=256, width=256, channels=32, filters=64),
)
def kb3_013_densenet121_transition_layer(nn, x):
    return transition(nn, x, "", nn.filters)
