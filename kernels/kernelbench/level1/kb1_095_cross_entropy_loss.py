"""The mean cross entropy of logits and classes."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand
from metalbench.task import integers


@problem(
    inputs=dict(predictions=rand("rows", "classes"), targets=integers("rows", high="classes")),
    small=dict(rows=2, classes=32),
    odd=dict(rows=3, classes=37),
    cpu=dict(rows=256, classes=1024),
    paper=dict(rows=32768, classes=4096),
    cut="rows",
)
def kb1_095_cross_entropy_loss(nn, predictions, targets):
    return nn.cross_entropy(predictions, targets)
