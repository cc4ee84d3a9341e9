"""Convolution, ReLU, leaky ReLU, GELU, sigmoid, bias."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "depth", "height", "width", "channels")),
    small=dict(batch=2, depth=6, height=8, width=8, channels=4, filters=8),
    odd=dict(batch=3, depth=7, height=11, width=13, channels=5, filters=7),
    cpu=dict(batch=2, depth=12, height=12, width=12, channels=8, filters=32),
    paper=dict(batch=64, depth=32, height=64, width=64, channels=8, filters=32),
)
def kb2_007_conv3d_relu_leaky_relu_gelu_sigmoid_bias_add(nn, x):
    y = nn.conv(x, "conv", nn.filters, 3)
    y = nn.relu(y)
    y = nn.leaky_relu(y, 0.01)
    y = nn.gelu(y)
    y = nn.sigmoid(y)
    return nn.add(y, nn.normal("bias", nn.filters))
