"""GPT-2: logits of 256 tokens, batch 32."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import gpt2
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, dims=24),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, dims=36),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, dims=96),
    paper=dict(batch=32, tokens=256, vocab=50257, positions=1024, dims=768),
    depth=12,
    multiples=dict(dims=12),
    at_most=dict(tokens="positions"),
)
def kb4_007_gpt2_bs32_seq256(nn, x):
    return gpt2(nn, x)
