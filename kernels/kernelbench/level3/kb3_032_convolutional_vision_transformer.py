"""A transformer over two tokens: one for the class, one for all patches."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import encoder_layer, flat
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", 32, 32, 3)),
    small=dict(batch=3, dims=16, inner=32, classes=10),
    odd=dict(batch=5, dims=20, inner=37, classes=11),
    cpu=dict(batch=4, dims=64, inner=256, classes=100),
    paper=dict(batch=10, dims=128, inner=512, classes=1000),
    multiples=dict(dims=4),
)
def kb3_032_convolutional_vision_transformer(nn, x):
    x = flat(nn, nn.conv(x, "conv1", nn.dims, 4, stride=4))
    x = nn.reshape(nn.linear(x, "linear_proj", nn.dims), (-1, 1, nn.dims))
    first = nn.constant("cls_token", 0, 1, 1, nn.dims)
    x = nn.concat([nn.full(first, x.shape), x], 1)
    for i in range(6):
        x = encoder_layer(nn, x, f"transformer_layers.{i}", 4, nn.inner)
    return nn.linear(x[:, 0], "fc_out", nn.classes)
