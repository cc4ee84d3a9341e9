"""Parts of published networks: transformers, convolutional blocks, residual networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from metalbench.kernelbench.problems.layers import Layers
from metalbench.kernelbench.problems.parameters import Initial, constant, randn, within


def heads_of(nn: Layers, x: Any, heads: int) -> Any:
    """(batch, tokens, dims) as (batch, heads, tokens, dims of a head)."""
    batch, tokens, dims = x.shape
    split = nn.reshape(x, (batch, tokens, heads, dims // heads))
    return nn.transpose(split, (0, 2, 1, 3))


def merge_heads(nn: Layers, x: Any) -> Any:
    """Undo `heads_of`."""
    batch, heads, tokens, dims = x.shape
    return nn.reshape(nn.transpose(x, (0, 2, 1, 3)), (batch, tokens, heads * dims))


def multi_head_attention(nn: Layers, x: Any, name: str, heads: int) -> Any:
    """PyTorch's self-attention of (batch, tokens, dims), with its parameters."""
    dims = x.shape[-1]
    bound = math.sqrt(6 / (4 * dims))
    w = nn.parameter(f"{name}.in_proj_weight", (3 * dims, dims), within(bound))
    b = nn.parameter(f"{name}.in_proj_bias", (3 * dims,), constant(0))
    qkv = nn.matmul(x, nn.swapped(w)) + b
    q, k, v = (heads_of(nn, qkv[..., i * dims : (i + 1) * dims], heads) for i in range(3))
    scores = nn.matmul(q * (1 / math.sqrt(dims // heads)), nn.swapped(k))
    mixed = merge_heads(nn, nn.matmul(nn.softmax(scores, -1), v))
    out = nn.parameter(f"{name}.out_proj.weight", (dims, dims), within(1 / math.sqrt(dims)))
    bias = nn.parameter(f"{name}.out_proj.bias", (dims,), constant(0))
    return nn.matmul(mixed, nn.swapped(out)) + bias


def encoder_layer(nn: Layers, x: Any, name: str, heads: int, inner: int) -> Any:
    """PyTorch's encoder layer, norms behind, ReLU, without dropout."""
    x = nn.layer_norm(x + multi_head_attention(nn, x, f"{name}.self_attn", heads), f"{name}.norm1")
    y = nn.relu(nn.linear(x, f"{name}.linear1", inner))
    return nn.layer_norm(x + nn.linear(y, f"{name}.linear2", x.shape[-1]), f"{name}.norm2")


def causal_scores(nn: Layers, q: Any, k: Any) -> Any:
    """Q k^T / sqrt(dims) and, above the diagonal, what counts as minus infinity."""
    scores = nn.matmul(q, nn.swapped(k)) * (1 / math.sqrt(q.shape[-1]))
    seen = nn.triangle(q.shape[-2])
    return nn.where(seen > 0, scores, -math.inf)


def causal_attention(nn: Layers, x: Any, name: str, heads: int) -> Any:
    """MinGPT's attention of (batch, tokens, dims), with its projections."""
    dims = x.shape[-1]
    qkv = nn.linear(x, f"{name}c_attn", 3 * dims)
    q, k, v = (heads_of(nn, qkv[..., i * dims : (i + 1) * dims], heads) for i in range(3))
    shares = nn.softmax(causal_scores(nn, q, k), -1)
    return nn.linear(merge_heads(nn, nn.matmul(shares, v)), f"{name}c_proj", dims)


# Blocks of networks for images, by the names of their papers; images are channels last.


def conv_bn(  # noqa: PLR0917
    nn: Layers, x: Any, conv: str, norm: str, filters: int, kernel: int, **how: Any
) -> Any:
    """Return a convolution without a bias, and a batch norm."""
    return nn.batch_norm(nn.conv(x, conv, filters, kernel, bias=False, **how), norm)


def max_pool_square(
    nn: Layers, x: Any, kernel: int, stride: int, padding: int = 0, **how: Any
) -> Any:
    """Maxima of square windows."""
    return nn.max_pool(x, (kernel,) * 2, (stride,) * 2, (padding,) * 2, **how)


def mean_of_pixels(nn: Layers, x: Any) -> Any:
    """(batch, channels)."""
    return nn.mean(x, (1, 2))


def flat(nn: Layers, x: Any) -> Any:
    """Everything of an image behind each other."""
    return nn.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def inception(nn: Layers, x: Any, name: str, filters: Sequence[int]) -> Any:
    """Four branches side by side: of 1, 3 and 5 taps, and of maxima; nothing between."""
    one, three_in, three, five_in, five, pool = filters
    branches = [
        nn.conv(x, f"{name}branch1x1", one, 1),
        nn.conv(
            nn.conv(x, f"{name}branch3x3.0", three_in, 1), f"{name}branch3x3.1", three, 3, padding=1
        ),
        nn.conv(
            nn.conv(x, f"{name}branch5x5.0", five_in, 1), f"{name}branch5x5.1", five, 5, padding=2
        ),
        nn.conv(max_pool_square(nn, x, 3, 1, 1), f"{name}branch_pool.1", pool, 1),
    ]
    return nn.concat(branches, -1)


def basic_block(nn: Layers, x: Any, name: str, filters: int, stride: int, *, shortcut: bool) -> Any:
    """ResNet's block of two convolutions."""
    y = conv_bn(nn, x, f"{name}conv1", f"{name}bn1", filters, 3, stride=stride, padding=1)
    y = conv_bn(nn, nn.relu(y), f"{name}conv2", f"{name}bn2", filters, 3, padding=1)
    return nn.relu(y + _shortcut(nn, x, name, filters, stride, shortcut))


def bottleneck(nn: Layers, x: Any, name: str, filters: int, stride: int, *, shortcut: bool) -> Any:
    """ResNet's block of three convolutions, four times as wide at its end."""
    y = nn.relu(conv_bn(nn, x, f"{name}conv1", f"{name}bn1", filters, 1))
    y = conv_bn(nn, y, f"{name}conv2", f"{name}bn2", filters, 3, stride=stride, padding=1)
    y = conv_bn(nn, nn.relu(y), f"{name}conv3", f"{name}bn3", 4 * filters, 1)
    return nn.relu(y + _shortcut(nn, x, name, 4 * filters, stride, shortcut))


def _shortcut(  # noqa: PLR0917
    nn: Layers, x: Any, name: str, filters: int, stride: int, shortcut: bool
) -> Any:
    if not shortcut:
        return x
    names = f"{name}downsample.0", f"{name}downsample.1"
    return conv_bn(nn, x, *names, filters, 1, stride=stride)


def resnet(nn: Layers, x: Any, block: Any, blocks: Sequence[int], width: int, classes: int) -> Any:  # noqa: PLR0917
    """Return a whole ResNet: `blocks` of each of four stages."""
    x = nn.relu(conv_bn(nn, x, "conv1", "bn1", width, 7, stride=2, padding=3))
    x = max_pool_square(nn, x, 3, 2, 1)
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if i == 0 and stage else 1
            filters = width << stage
            other = i == 0 and (bool(stage) or block is bottleneck)
            x = block(nn, x, f"layer{stage + 1}.{i}.", filters, stride, shortcut=other)
    return nn.linear(mean_of_pixels(nn, x), "fc", classes)


def dense_block(nn: Layers, x: Any, name: str, layers: int, growth: int) -> Any:
    """Return every layer sees what all before it have made."""
    for i in range(layers):
        y = nn.relu(nn.batch_norm(x, f"{name}layers.{i}.0"))
        y = nn.conv(y, f"{name}layers.{i}.2", growth, 3, padding=1, bias=False)
        x = nn.concat([x, y], -1)
    return x


def transition(nn: Layers, x: Any, name: str, filters: int) -> Any:
    """Between dense blocks: fewer channels, and a quarter of the pixels."""
    y = nn.relu(nn.batch_norm(x, f"{name}transition.0"))
    y = nn.conv(y, f"{name}transition.2", filters, 1, bias=False)
    return nn.avg_pool(y, (2, 2), (2, 2), (0, 0))


def densenet(nn: Layers, x: Any, blocks: Sequence[int], growth: int, classes: int) -> Any:
    """Return a whole DenseNet, without the narrow convolutions of the paper's."""
    x = nn.conv(x, "features.0", 2 * growth, 7, stride=2, padding=3, bias=False)
    x = max_pool_square(nn, nn.relu(nn.batch_norm(x, "features.1")), 3, 2, 1)
    for b, layers in enumerate(blocks):
        x = dense_block(nn, x, f"dense_blocks.{b}.", layers, growth)
        if b < len(blocks) - 1:
            x = transition(nn, x, f"transition_layers.{b}.", x.shape[-1] // 2)
    x = nn.relu(nn.batch_norm(x, "final_bn"))
    return nn.linear(mean_of_pixels(nn, x), "classifier", classes)


def fire(nn: Layers, x: Any, name: str, squeezed: int, expanded: int) -> Any:
    """SqueezeNet's module: few channels, then twice `expanded`."""
    s = nn.relu(nn.conv(x, f"{name}squeeze", squeezed, 1))
    one = nn.relu(nn.conv(s, f"{name}expand1x1", expanded, 1))
    three = nn.relu(nn.conv(s, f"{name}expand3x3", expanded, 3, padding=1))
    return nn.concat([one, three], -1)


def relu6(nn: Layers, x: Any) -> Any:
    """X within [0, 6]."""
    return nn.clamp(x, 0, 6)


def depthwise_bn(  # noqa: PLR0917
    nn: Layers, x: Any, conv: str, norm: str, kernel: int, stride: int, **how: Any
) -> Any:
    """Return a depthwise convolution of odd taps that keeps the extents, but for its stride."""
    channels = x.shape[-1]
    how = {"stride": stride, "padding": kernel // 2, "groups": channels, **how}
    return conv_bn(nn, x, conv, norm, channels, kernel, **how)


def mb_conv(  # noqa: PLR0917
    nn: Layers, x: Any, name: str, filters: int, kernel: int, stride: int, ratio: int
) -> Any:
    """EfficientNet's block, with the names of its three parts."""
    y = x
    if ratio > 1:
        names = f"{name}expand_conv.0", f"{name}expand_conv.1"
        y = relu6(nn, conv_bn(nn, x, *names, ratio * x.shape[-1], 1))
    names = f"{name}depthwise_conv.0", f"{name}depthwise_conv.1"
    y = relu6(nn, depthwise_bn(nn, y, *names, kernel, stride))
    y = conv_bn(nn, y, f"{name}project_conv.0", f"{name}project_conv.1", filters, 1)
    return x + y if stride == 1 and x.shape[-1] == filters else y


def inverted(  # noqa: PLR0917
    nn: Layers, x: Any, name: str, filters: int, stride: int, ratio: int, *, kaiming: bool = False
) -> Any:
    """MobileNet's block as one list of layers, without a residual; `ratio` 0 does not expand."""
    at = 0
    if ratio:
        width = ratio * x.shape[-1]
        x = _number_layers(nn, x, name, at, width, 1, kaiming=kaiming)
        x, at = relu6(nn, x), 3
    x = _number_layers(
        nn, x, name, at, x.shape[-1], 3, kaiming=kaiming, stride=stride, groups=x.shape[-1]
    )
    return _number_layers(nn, relu6(nn, x), name, at + 3, filters, 1, kaiming=kaiming)


def he(kernel: int, filters: int, groups: int = 1) -> Initial:
    """Kaiming's normal distribution, by what goes out of a filter."""
    return randn(math.sqrt(2 * groups / (kernel * kernel * filters)))


def linear_near_zero(nn: Layers, x: Any, name: str, features: int) -> Any:
    """Return a linear layer that begins with deviation 0.01, and without a bias."""
    w = nn.parameter(f"{name}.weight", (features, x.shape[-1]), randn(0.01))
    return nn.matmul(x, nn.swapped(w)) + nn.constant(f"{name}.bias", 0, features)


def _number_layers(  # noqa: PLR0917
    nn: Layers, x: Any, name: str, at: int, filters: int, kernel: int, *, kaiming: bool, **how: Any
) -> Any:
    initial = he(kernel, filters, how.get("groups", 1)) if kaiming else None
    how = {"padding": kernel // 2, **how, "initial": initial}
    return conv_bn(nn, x, f"{name}{at}", f"{name}{at + 1}", filters, kernel, **how)


def shuffle_unit(nn: Layers, x: Any, name: str, filters: int, *, shortcut: bool) -> Any:
    """ShuffleNet's unit of three groups, without a stride; no ReLU behind the sum."""
    inner, groups = filters // 4, 3
    y = nn.relu(conv_bn(nn, x, f"{name}conv1", f"{name}bn1", inner, 1, groups=groups))
    y = depthwise_bn(nn, y, f"{name}conv2", f"{name}bn2", 3, 1)
    split = nn.reshape(y, (*y.shape[:-1], groups, inner // groups))
    y = nn.reshape(nn.swapped(split), y.shape)
    y = nn.relu(conv_bn(nn, y, f"{name}conv3", f"{name}bn3", filters, 1, groups=groups))
    names = f"{name}shortcut.0", f"{name}shortcut.1"
    return y + (conv_bn(nn, x, *names, filters, 1) if shortcut else x)


def vgg(nn: Layers, x: Any, stages: Sequence[int]) -> Any:
    """Return VGG with these numbers of convolutions per stage and three dense layers."""
    layer = 0
    for stage, count in enumerate(stages):
        filters = nn.filters << min(stage, 3)
        for _ in range(count):
            x = nn.relu(nn.conv(x, f"features.{layer}", filters, 3, padding=1))
            layer += 2
        x = max_pool_square(nn, x, 2, 2)
        layer += 1
    x = flat(nn, x)
    for layer in (0, 3):
        x = nn.relu(nn.linear(x, f"classifier.{layer}", nn.hidden))
    return nn.linear(x, "classifier.6", nn.classes)
