"""BigBird-base with a head for tokens, attention of blocks: logits of 4095 tokens, batch 1."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import big_bird
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=29, vocab=29, positions=40, dims=24, hidden=40, block=2),
    odd=dict(batch=3, tokens=37, vocab=37, positions=40, dims=36, hidden=44, block=3),
    cpu=dict(batch=1, tokens=64, vocab=512, positions=64, dims=96, hidden=192, block=4),
    paper=dict(batch=1, tokens=4095, vocab=50358, positions=4096, dims=768, hidden=3072, block=64),
    depth=12,
    multiples=dict(dims=12),
    at_most=dict(tokens="positions"),
    avoidable=True,
)
def kb4_005_big_bird_bs1_seq4095(nn, x):
    return big_bird(nn, x)
