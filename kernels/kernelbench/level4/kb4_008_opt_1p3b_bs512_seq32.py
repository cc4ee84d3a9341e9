"""OPT of 1.3 thousand million parameters: logits of 32 tokens, batch 512."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import opt
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, dims=32, hidden=40),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, dims=64, hidden=72),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, dims=128, hidden=256),
    paper=dict(batch=512, tokens=32, vocab=50272, positions=2048, dims=2048, hidden=8192),
    depth=24,
    multiples=dict(dims=32),
    at_most=dict(tokens="positions"),
)
def kb4_008_opt_1p3b_bs512_seq32(nn, x):
    return opt(nn, x)
