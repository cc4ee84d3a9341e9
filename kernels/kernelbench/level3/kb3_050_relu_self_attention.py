"""Causal attention of twelve heads with ReLU for softmax."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import causal_scores, heads_of, merge_heads
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "tokens", "dims")),
    small=dict(batch=2, tokens=19, dims=24),
    odd=dict(batch=3, tokens=17, dims=36),
    cpu=dict(batch=1, tokens=64, dims=96),
    paper=dict(batch=16, tokens=1024, dims=768),
    multiples=dict(dims=12),
)
def kb3_050_relu_self_attention(nn, x):
    qkv = nn.linear(x, "c_attn", 3 * nn.dims)
    q, k, v = (heads_of(nn, qkv[..., i * nn.dims : (i + 1) * nn.dims], 12) for i in range(3))
    return merge_heads(nn, nn.matmul(nn.relu(causal_scores(nn, q, k)), v))
