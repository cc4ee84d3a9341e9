"""Causal attention of eight heads, as minGPT writes it."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import causal_attention
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "tokens", "dims")),
    small=dict(batch=2, tokens=19, dims=24),
    odd=dict(batch=3, tokens=17, dims=40),
    cpu=dict(batch=1, tokens=64, dims=128),
    paper=dict(batch=128, tokens=512, dims=768),
    multiples=dict(dims=8),
)
def kb3_043_mingpt_causal_attention(nn, x):
    return causal_attention(nn, x, "", 8)
