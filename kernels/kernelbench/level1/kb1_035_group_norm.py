"""Group norm of images, of 8 channels a group at the problem's own extents."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


def draw(random):
    """Extents with whole groups."""
    groups, per_group = random.integers(1, 9), random.integers(1, 5)
    batch, height, width = random.integers(2, 9, size=3)
    return dict(batch=batch, height=height, width=width, channels=groups * per_group, groups=groups)


@problem(
    inputs=dict(x=rand("batch", "height", "width", "channels")),
    small=dict(batch=2, height=16, width=16, channels=16, groups=4),
    odd=dict(batch=3, height=17, width=19, channels=24, groups=4),
    cpu=dict(batch=2, height=48, width=48, channels=32, groups=8),
    paper=dict(batch=112, height=512, width=512, channels=64, groups=8),
    draw=draw,
)
def kb1_035_group_norm(nn, x):
    return nn.group_norm(x, "gn", nn.groups)
