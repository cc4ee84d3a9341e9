"""GPT-Neo of 2.7 thousand million parameters: logits of 32 tokens, batch 512."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.language_models import gpt_neo
from metalbench.task import integers


@problem(
    inputs=dict(x=integers("batch", "tokens", high="vocab")),
    small=dict(batch=2, tokens=19, vocab=29, positions=24, dims=20, window=5),
    odd=dict(batch=3, tokens=17, vocab=37, positions=20, dims=40, window=7),
    cpu=dict(batch=1, tokens=32, vocab=512, positions=64, dims=80, window=16),
    paper=dict(batch=512, tokens=32, vocab=50257, positions=2048, dims=2560, window=256),
    depth=32,
    multiples=dict(dims=20),
    at_most=dict(tokens="positions"),
)
def kb4_018_gpt_neo_2p7b_bs512_seq32(nn, x):
    return gpt_neo(nn, x)
