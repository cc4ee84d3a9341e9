"""An Inception module; channels are multiples of `unit`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import inception
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "30 * unit")),
    small=dict(batch=2, height=9, width=11, unit=1),
    odd=dict(batch=3, height=7, width=13, unit=2),
    cpu=dict(batch=1, height=12, width=12, unit=3),
    paper=dict(batch=10, height=224, width=224, unit=16),
)
def kb3_006_googlenet_inception_module(nn, x):
    return inception(nn, x, "", [nn.unit * each for each in (12, 6, 13, 1, 3, 4)])
