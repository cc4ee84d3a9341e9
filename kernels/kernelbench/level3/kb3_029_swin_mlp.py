"""SwinMLP: products over the tokens of windows; channels are 3 `dims`."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.layers import parities, spatial_mlp_block
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "side", "side", 3)),
    small=dict(batch=1, side=224, dims=1, classes=10),
    odd=dict(batch=2, side=224, dims=2, classes=7),
    cpu=dict(batch=1, side=224, dims=1, classes=10),
    paper=dict(batch=10, side=224, dims=32, classes=1000),
    multiples=dict(side=224),
)
def kb3_029_swin_mlp(nn, x):
    x = nn.conv(x, "patch_embed.proj", 3 * nn.dims, 4, stride=4)
    x = nn.layer_norm(x, "patch_embed.norm")
    for stage, count in enumerate((2, 2, 6, 2)):
        for i in range(count):
            shifted = i in (1, 3, 5) and stage < 3
            x = spatial_mlp_block(nn, x, f"layers.{stage}.blocks.{i}.", 3 << stage, shifted=shifted)
        if stage < 3:
            name = f"layers.{stage}.downsample."
            x = nn.layer_norm(parities(nn, x), f"{name}norm")
            x = nn.linear(x, f"{name}reduction", x.shape[-1] // 2, bias=False)
    x = nn.layer_norm(x, "norm")
    return nn.linear(nn.mean(x, (1, 2)), "head", nn.classes)
