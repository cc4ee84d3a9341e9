"""Reformer of characters, of sequences that need no hashes: logits of 32 tokens, batch 1024."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import reformer
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, rows=2, columns=24, dims=24, head=3, hidden=40),
    odd=dict(batch=3, tokens=17, vocab=37, rows=3, columns=20, dims=36, head=4, hidden=44),
    cpu=dict(batch=1, tokens=32, vocab=258, rows=4, columns=64, dims=96, head=12, hidden=192),
    paper=dict(
        batch=1024, tokens=32, vocab=258, rows=128, columns=512, dims=1024, head=128, hidden=4096
    ),
    depth=12,
    multiples=dict(dims=4),
    at_most=dict(tokens="columns"),
)
def kb4_015_reformer_bs1024_seq32(nn, x):
    return reformer(nn, x)
