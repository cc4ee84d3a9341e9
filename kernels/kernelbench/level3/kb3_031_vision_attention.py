"""Attention over the pixels of an image, a residual and a layer norm."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import multi_head_attention
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", "dims")),
    small=dict(batch=2, height=7, width=5, dims=16),
    odd=dict(batch=3, height=5, width=9, dims=20),
    cpu=dict(batch=1, height=16, width=16, dims=64),
    paper=dict(batch=2, height=128, width=128, dims=128),
    multiples=dict(dims=4),
)
def kb3_031_vision_attention(nn, x):
    batch, height, width, dims = x.shape
    tokens = nn.reshape(x, (batch, height * width, dims))
    y = multi_head_attention(nn, tokens, "attn", 4) + tokens
    return nn.reshape(nn.layer_norm(y, "norm"), x.shape)
