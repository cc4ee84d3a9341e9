"""A vision transformer whose attention is over the images of a batch."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.models import encoder_layer
from metalbench.kernelbench.problems.parameters import rand

PATCH = 16


@problem(
    inputs=dict(img=rand("batch", "side", "side", 3)),
    small=dict(batch=2, side=32, dims=32, inner=48, classes=10),
    odd=dict(batch=3, side=48, dims=40, inner=56, classes=7),
    cpu=dict(batch=2, side=64, dims=64, inner=128, classes=10),
    paper=dict(batch=2, side=224, dims=512, inner=2048, classes=10),
    multiples=dict(side=16, dims=8),
)
def kb3_028_vision_transformer(nn, img):
    batch, across = img.shape[0], img.shape[1] // PATCH
    # The original reshapes as its channels come first, and does not move them.
    planes = nn.reshape(nn.transpose(img, (0, 3, 1, 2)), (batch, 3, across, PATCH, across, PATCH))
    patches = nn.transpose(planes, (0, 1, 2, 4, 3, 5))
    x = nn.reshape(patches, (batch, across * across, 3 * PATCH * PATCH))
    x = nn.linear(x, "patch_to_embedding", nn.dims)
    place = nn.normal("pos_embedding", 1, across * across + 1, nn.dims)
    first = nn.normal("cls_token", 1, 1, nn.dims)
    x = nn.concat([nn.full(first, (batch, 1, nn.dims)), x], 1) + place
    # Tokens come where PyTorch's layer expects the batch: it mixes images, not tokens.
    x = nn.transpose(x, (1, 0, 2))
    for i in range(6):
        x = encoder_layer(nn, x, f"transformer.layers.{i}", 8, nn.inner)
    y = nn.gelu(nn.linear(x[0], "mlp_head.0", nn.inner))
    return nn.linear(y, "mlp_head.3", nn.classes)
