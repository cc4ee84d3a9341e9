"""Mamba's second version: a linear recurrence, in chunks by products of matrices.

h_t = exp(A_t) h_{t-1} + B_t x_t, y_t = C_t h_t for each head; x (batch, steps, heads, dims), A
(batch, steps, heads), B and C (batch, steps, heads, state).
"""

from __future__ import annotations

import math
from typing import Any

from metalbench.suites.kernelbench.problems.layers import Layers


def scan_chunks(nn: Layers, x: Any, a: Any, b: Any, c: Any, *, chunk: int) -> tuple[Any, Any]:
    """Return all outputs, None without `c`, and the last state (batch, heads, dims, state)."""
    x, b, a = (_split(nn, each, chunk) for each in (x, b, a[..., None]))
    sums = nn.cumsum(a[..., 0], -1)
    end = sums[..., -1:]
    states = nn.matmul(nn.swapped(x), b * nn.exp(end - sums)[..., None])
    states = _carry(nn, states, end[..., 0])
    if c is None:
        return None, states[:, :, -1]
    c = _split(nn, c, chunk)
    decay = nn.exp(_segment_sums(nn, sums))
    within = nn.matmul(nn.matmul(c, nn.swapped(b)) * decay, x)
    before = nn.matmul(c, nn.swapped(states[:, :, :-1])) * nn.exp(sums)[..., None]
    return _join(nn, within + before), states[:, :, -1]


def step_by_step(nn: Layers, x: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the same by its definition."""
    batch, steps, heads, dims = x.shape
    state = nn.zeros((batch, heads, dims, b.shape[-1]))
    outputs = []
    for t in range(steps):
        state = nn.exp(a[:, t])[..., None, None] * state + x[:, t, :, :, None] * b[:, t, :, None]
        if c is not None:
            outputs.append(nn.matmul(state, c[:, t, :, :, None])[..., 0])
    return nn.stack(outputs, 1) if outputs else None, state


def _split(nn: Layers, x: Any, chunk: int) -> Any:
    """(batch, heads, chunks, steps of a chunk, more)."""
    batch, steps, heads, more = x.shape
    split = nn.reshape(x, (batch, steps // chunk, chunk, heads, more))
    return nn.transpose(split, (0, 3, 1, 2, 4))


def _join(nn: Layers, x: Any) -> Any:
    batch, heads, chunks, chunk, more = x.shape
    return nn.reshape(nn.transpose(x, (0, 2, 3, 1, 4)), (batch, chunks * chunk, heads, more))


def _segment_sums(nn: Layers, sums: Any) -> Any:
    """Sums of what lies between two steps; minus infinity where the second one is not behind."""
    apart = sums[..., :, None] - sums[..., None, :]
    return nn.where(nn.triangle(sums.shape[-1]) > 0, apart, -math.inf)


def _carry(nn: Layers, states: Any, totals: Any) -> Any:
    """States before every chunk, and behind the last one: (batch, heads, chunks + 1, ...)."""
    batch, heads, chunks, dims, more = states.shape
    zero = nn.zeros((batch, heads, 1, dims, more))
    states = nn.concat([zero, states], 2)
    padded = nn.concat([nn.zeros((batch, heads, 1)), nn.cumsum(totals, -1)], -1)
    decay = nn.exp(_segment_sums(nn, padded))
    flat = nn.reshape(states, (batch, heads, chunks + 1, dims * more))
    return nn.reshape(nn.matmul(decay, flat), states.shape)
