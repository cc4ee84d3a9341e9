"""Swin networks: blocks over windows of 7 x 7 tokens; images are channels last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.kernelbench.problems.parameters import Initial, constant, within

WINDOW = 7
SHIFT = WINDOW // 2


def windows_of(nn: Layers, x: Any) -> Any:
    """(batch, height, width, channels) as (windows, tokens, channels)."""
    batch, height, width, channels = x.shape
    down, across = height // WINDOW, width // WINDOW
    split = nn.reshape(x, (batch, down, WINDOW, across, WINDOW, channels))
    tokens = WINDOW * WINDOW
    return nn.reshape(
        nn.transpose(split, (0, 1, 3, 2, 4, 5)), (batch * down * across, tokens, channels)
    )


def image_of(nn: Layers, x: Any, height: int, width: int) -> Any:
    """Undo `windows_of`."""
    down, across, channels = height // WINDOW, width // WINDOW, x.shape[-1]
    batch = x.shape[0] // (down * across)
    split = nn.reshape(x, (batch, down, across, WINDOW, WINDOW, channels))
    return nn.reshape(nn.transpose(split, (0, 1, 3, 2, 4, 5)), (batch, height, width, channels))


def parities(nn: Layers, x: Any) -> Any:
    """Every four pixels as one of four times the channels: (0, 0), (1, 0), (0, 1), (1, 1)."""
    corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
    return nn.concat(corners, -1)


def mlp(nn: Layers, x: Any, name: str) -> Any:
    """Two linear layers, four times as wide between."""
    channels = x.shape[-1]
    y = nn.gelu(nn.linear(x, f"{name}fc1", 4 * channels))
    return nn.linear(y, f"{name}fc2", channels)


def spatial_mlp_block(nn: Layers, x: Any, name: str, heads: int, *, shifted: bool) -> Any:
    """Return SwinMLP's block: one product per head over the tokens of a window."""
    channels = x.shape[-1]
    y = nn.layer_norm(x, f"{name}norm1")
    if shifted:
        border = (WINDOW - SHIFT, SHIFT)
        y = nn.pad(y, [(0, 0), border, border, (0, 0)])
    tall, wide = y.shape[1:3]
    inside = windows_of(nn, y)
    tokens, dims = WINDOW * WINDOW, channels // heads
    split = nn.transpose(nn.reshape(inside, (-1, tokens, heads, dims)), (0, 2, 1, 3))
    bound = within(1 / math.sqrt(tokens))
    w = nn.parameter(f"{name}spatial_mlp.weight", (heads * tokens, 1, tokens), bound)
    b = nn.parameter(f"{name}spatial_mlp.bias", (heads * tokens,), bound)
    w = nn.reshape(w, (heads, tokens, tokens))
    mixed = nn.matmul(w, split) + nn.reshape(b, (heads, tokens, 1))
    mixed = nn.reshape(nn.transpose(mixed, (0, 2, 1, 3)), (-1, tokens, channels))
    y = image_of(nn, mixed, tall, wide)
    if shifted:
        y = y[:, WINDOW - SHIFT : tall - SHIFT, WINDOW - SHIFT : wide - SHIFT]
    x = x + y
    return x + mlp(nn, nn.layer_norm(x, f"{name}norm2"), f"{name}mlp.")


def attention_block(nn: Layers, x: Any, name: str, heads: int, *, shifted: bool) -> Any:
    """Swin's second version: cosine attention within windows, norms behind."""
    height, width = x.shape[1:3]
    y = nn.roll(x, (-SHIFT, -SHIFT), (1, 2)) if shifted else x
    mask = _mask(height, width) if shifted else None
    y = image_of(nn, _attention(nn, windows_of(nn, y), f"{name}attn.", heads, mask), height, width)
    y = nn.roll(y, (SHIFT, SHIFT), (1, 2)) if shifted else y
    x = x + nn.layer_norm(y, f"{name}norm1")
    return x + nn.layer_norm(mlp(nn, x, f"{name}mlp."), f"{name}norm2")


def _attention(nn: Layers, x: Any, name: str, heads: int, mask: Any) -> Any:
    count, tokens, channels = x.shape
    dims = channels // heads
    initial: Initial = constant(math.log(10))
    scale = nn.parameter(f"{name}logit_scale", (heads, 1, 1), initial)
    biases = [nn.constant(f"{name}{each}_bias", 0, channels) for each in "qv"]
    w = nn.parameter(f"{name}qkv.weight", (3 * channels, channels), within(1 / channels**0.5))
    qkv = nn.matmul(x, nn.swapped(w))
    parts = [qkv[..., i * channels : (i + 1) * channels] for i in range(3)]
    parts[0], parts[2] = parts[0] + biases[0], parts[2] + biases[1]
    q, k, v = (
        nn.transpose(nn.reshape(each, (count, tokens, heads, dims)), (0, 2, 1, 3)) for each in parts
    )
    logits = nn.matmul(_unit(nn, q), nn.swapped(_unit(nn, k)))
    logits = logits * nn.exp(nn.minimum(scale, math.log(100)))
    logits = logits + _position_bias(nn, name, heads)
    if mask is not None:
        grouped = nn.reshape(logits, (-1, mask.shape[0], heads, tokens, tokens))
        logits = nn.reshape(grouped + nn.given(mask[:, None]), logits.shape)
    mixed = nn.transpose(nn.matmul(nn.softmax(logits, -1), v), (0, 2, 1, 3))
    return nn.linear(nn.reshape(mixed, (count, tokens, channels)), f"{name}proj", channels)


def _unit(nn: Layers, x: Any) -> Any:
    return x / nn.maximum(nn.root_of_squares(x, -1, keep=True), 1e-12)


def _position_bias(nn: Layers, name: str, heads: int) -> Any:
    """16 sigmoid of a small network of the distance of two tokens: (heads, tokens, tokens)."""
    side = 2 * WINDOW - 1
    inner = nn.relu(nn.linear(nn.given(_coordinates()), f"{name}cpb_mlp.0", 512))
    table = nn.linear(inner, f"{name}cpb_mlp.2", heads, bias=False)
    rows = nn.taken(nn.reshape(table, (side * side, heads)), _index().reshape(-1))
    tokens = WINDOW * WINDOW
    return 16 * nn.sigmoid(nn.transpose(nn.reshape(rows, (tokens, tokens, heads)), (2, 0, 1)))


def _coordinates() -> np.ndarray[Any, Any]:
    """Distances of -6..6 on a logarithmic scale: (1, 13, 13, 2)."""
    offsets = np.arange(-(WINDOW - 1), WINDOW)
    both = 8 * np.stack(np.meshgrid(offsets, offsets, indexing="ij"), -1)[None] / (WINDOW - 1)
    return np.asarray(np.sign(both) * np.log2(np.abs(both) + 1) / math.log2(8))


def _index() -> np.ndarray[Any, Any]:
    """Return the row of the table for the distance of two tokens."""
    places = np.stack(np.meshgrid(*[np.arange(WINDOW)] * 2, indexing="ij")).reshape(2, -1)
    apart = places[:, :, None] - places[:, None] + WINDOW - 1
    return np.asarray(apart[0] * (2 * WINDOW - 1) + apart[1])


def _mask(height: int, width: int) -> np.ndarray[Any, Any]:
    """-100 between tokens that only the roll has brought together: (windows, tokens, tokens)."""
    regions = np.zeros((height, width))
    cuts = (slice(0, -WINDOW), slice(-WINDOW, -SHIFT), slice(-SHIFT, None))
    for i, rows in enumerate(cuts):
        for j, cols in enumerate(cuts):
            regions[rows, cols] = 3 * i + j
    split = regions.reshape(height // WINDOW, WINDOW, width // WINDOW, WINDOW)
    tokens = split.transpose(0, 2, 1, 3).reshape(-1, WINDOW * WINDOW)
    return np.where(tokens[:, None] == tokens[:, :, None], 0.0, -100.0)
