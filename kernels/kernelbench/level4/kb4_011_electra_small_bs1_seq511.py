"""ELECTRA-small with a head for tokens: logits of 511 tokens, batch 1."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import electra
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, embedded=12, dims=24, hidden=40),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, embedded=10, dims=28, hidden=36),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, embedded=64, dims=128, hidden=256),
    paper=dict(
        batch=1, tokens=511, vocab=30522, positions=512, embedded=128, dims=256, hidden=1024
    ),
    depth=12,
    multiples=dict(dims=4),
    at_most=dict(tokens="positions"),
)
def kb4_011_electra_small_bs1_seq511(nn, x):
    return electra(nn, x)
