"""Parts of transformers: multi-head attention, encoder layers, minGPT's block."""

from __future__ import annotations

import math
from typing import Any

from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.kernelbench.problems.parameters import constant, within


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
