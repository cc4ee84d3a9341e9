"""The decoder of BART-large: logits of 32 tokens, batch 1024."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import bart_decoder
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, dims=32, hidden=40),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, dims=48, hidden=56),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, dims=128, hidden=256),
    paper=dict(batch=1024, tokens=32, vocab=50265, positions=1024, dims=1024, hidden=4096),
    depth=12,
    multiples=dict(dims=16),
    at_most=dict(tokens="positions"),
)
def kb4_017_bart_large_bs1024_seq32(nn, x):
    return bart_decoder(nn, x)
