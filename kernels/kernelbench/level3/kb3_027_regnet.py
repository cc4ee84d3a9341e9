"""Three stages of two convolutions with batch norms, and maxima."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import max_pool_square, mean_of_pixels
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "height", "width", 3)),
    small=dict(batch=2, height=20, width=24, unit=6, classes=10),
    odd=dict(batch=3, height=17, width=19, unit=5, classes=7),
    cpu=dict(batch=1, height=24, width=24, unit=16, classes=10),
    paper=dict(batch=8, height=224, width=224, unit=64, classes=10),
)
def kb3_027_regnet(nn, x):
    for stage in range(3):
        name = f"feature_extractor.{stage}."
        for at in (0, 3):
            x = nn.conv(x, f"{name}{at}", nn.unit << stage, 3, padding=1)
            x = nn.relu(nn.batch_norm(x, f"{name}{at + 1}"))
        x = max_pool_square(nn, x, 2, 2)
    return nn.linear(mean_of_pixels(nn, x), "fc", nn.classes)
