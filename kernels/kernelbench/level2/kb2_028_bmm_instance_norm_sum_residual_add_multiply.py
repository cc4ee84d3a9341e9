"""Linear layer, instance norm, sum, product."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner"), y=rand("batch", "features")),
    small=dict(batch=2, inner=64, features=64),
    odd=dict(batch=3, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=1024, inner=8192, features=8192),
    outputs=("z",),
)
def kb2_028_bmm_instance_norm_sum_residual_add_multiply(nn, x, y):
    z = nn.norm(nn.linear(x, "bmm", nn.features), (1,))
    return nn.multiply(nn.add(z, y), y)
