"""Linear layer, scaling, batch norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=6, inner=64, features=64),
    odd=dict(batch=7, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=16384, inner=4096, features=4096),
)
def kb2_039_gemm_scale_batch_norm(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.multiply(y, nn.normal("scale", nn.features))
    return nn.batch_norm(y, "bn")
