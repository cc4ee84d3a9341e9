"""VGG-19, its first stage `filters` wide."""

from metalbench.suites.kernelbench.problems import problem, rand
from metalbench.suites.kernelbench.problems.vision import flat, pooled


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=32, filters=4, hidden=32, classes=10),
    odd=dict(batch=1, side=37, filters=5, hidden=33, classes=11),
    cpu=dict(batch=1, side=32, filters=6, hidden=128, classes=100),
    paper=dict(batch=10, side=224, filters=64, hidden=4096, classes=1000),
)
def kb3_012_vgg19(nn, x):
    layer = 0
    for stage, count in enumerate((2, 2, 4, 4, 4)):
        filters = nn.filters << min(stage, 3)
        for _ in range(count):
            x = nn.relu(nn.conv(x, f"features.{layer}", filters, 3, padding=1))
            layer += 2
        x = pooled(nn, x, 2, 2)
        layer += 1
    x = flat(nn, x)
    for layer in (0, 3):
        x = nn.relu(nn.linear(x, f"classifier.{layer}", nn.hidden))
    return nn.linear(x, "classifier.6", nn.classes)
