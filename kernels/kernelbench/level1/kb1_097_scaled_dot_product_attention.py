"""Attention of 32 heads, as wide as 1024 at the problem's own extents."""

import math

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(
        q=rand("batch", "heads", "tokens", "dims"),
        k=rand("batch", "heads", "tokens", "dims"),
        v=rand("batch", "heads", "tokens", "dims"),
    ),
    small=dict(batch=2, heads=2, tokens=16, dims=32),
    odd=dict(batch=3, heads=3, tokens=19, dims=37),
    cpu=dict(batch=1, heads=4, tokens=96, dims=128),
    paper=dict(batch=32, heads=32, tokens=512, dims=1024),
)
def kb1_097_scaled_dot_product_attention(nn, q, k, v):
    scores = nn.multiply(nn.matmul(q, nn.swapped(k)), 1 / math.sqrt(nn.dims))
    return nn.matmul(nn.softmax(scores, -1), v)
