"""Linear layer, batch norm, GELU, ReLU."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=6, inner=64, features=64),
    odd=dict(batch=7, inner=61, features=66),
    cpu=dict(batch=64, inner=512, features=512),
    paper=dict(batch=16384, inner=4096, features=4096),
)
def kb2_041_gemm_batch_norm_gelu_relu(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.batch_norm(y, "batch_norm")
    y = nn.gelu(y)
    return nn.relu(y)
