"""BigBird-base with a head for tokens: logits of 256 tokens, batch 32."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import big_bird
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, dims=24, hidden=40, block=64),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, dims=36, hidden=44, block=64),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, dims=96, hidden=192, block=64),
    paper=dict(batch=32, tokens=256, vocab=50358, positions=4096, dims=768, hidden=3072, block=64),
    depth=12,
    multiples=dict(dims=12),
    at_most=dict(tokens="positions"),
)
def kb4_009_big_bird_bs32_seq256(nn, x):
    return big_bird(nn, x)
