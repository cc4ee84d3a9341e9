"""Linear layer, bias, clamp, Mish, group norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner")),
    small=dict(batch=2, inner=64, features=64, groups=8),
    odd=dict(batch=3, inner=61, features=66, groups=6),
    cpu=dict(batch=64, inner=512, features=512, groups=16),
    paper=dict(batch=1024, inner=8192, features=8192, groups=256),
    divides=dict(features="groups"),
)
def kb2_094_gemm_bias_add_hardtanh_mish_group_norm(nn, x):
    y = nn.linear(x, "gemm", nn.features)
    y = nn.add(y, nn.normal("bias", nn.features))
    y = nn.clamp(y, -1, 1)
    y = nn.mish(y)
    return nn.group_norm(y, "groupnorm", nn.groups)
