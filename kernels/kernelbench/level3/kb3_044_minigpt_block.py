"""MinGPT's block: causal attention, then a network of two layers."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import causal_attention
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "tokens", "dims")),
    small=dict(batch=2, tokens=19, dims=24),
    odd=dict(batch=3, tokens=17, dims=40),
    cpu=dict(batch=1, tokens=64, dims=96),
    paper=dict(batch=128, tokens=512, dims=768),
    multiples=dict(dims=8),
)
def kb3_044_minigpt_block(nn, x):
    x = x + causal_attention(nn, nn.layer_norm(x, "ln_1"), "attn.", 8)
    y = nn.gelu_tanh(nn.linear(nn.layer_norm(x, "ln_2"), "mlp.c_fc", 4 * nn.dims))
    return x + nn.linear(y, "mlp.c_proj", nn.dims)
