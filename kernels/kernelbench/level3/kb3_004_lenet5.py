"""LeNet-5."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import flat, max_pool_square
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", 32, 32, 1)),
    small=dict(batch=2, classes=20),
    odd=dict(batch=3, classes=13),
    cpu=dict(batch=16, classes=20),
    paper=dict(batch=4096, classes=20),
)
def kb3_004_lenet5(nn, x):
    x = max_pool_square(nn, nn.relu(nn.conv(x, "conv1", 6, 5)), 2, 2)
    x = max_pool_square(nn, nn.relu(nn.conv(x, "conv2", 16, 5)), 2, 2)
    x = nn.relu(nn.linear(flat(nn, x), "fc1", 120))
    x = nn.relu(nn.linear(x, "fc2", 84))
    return nn.linear(x, "fc3", nn.classes)
