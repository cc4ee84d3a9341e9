"""SqueezeNet's module: few channels, then many."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import fire
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=11, width=9, channels=3, squeezed=4, expanded=7),
    odd=dict(batch=3, height=7, width=13, channels=5, squeezed=3, expanded=5),
    cpu=dict(batch=1, height=40, width=40, channels=3, squeezed=6, expanded=64),
    paper=dict(batch=128, height=256, width=256, channels=3, squeezed=6, expanded=64),
)
def kb3_017_squeezenet_fire_module(nn, x):
    return fire(nn, x, "", nn.squeezed, nn.expanded)
