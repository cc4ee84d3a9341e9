"""Texts of different lengths, one behind the other in one array: inputs and oracles of attention.

The tokens of text t are those from starts[t] to starts[t + 1] - 1, as in `cu_seqlens` of
FlashAttention's functions for variable lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.expression import parse
from metalbench.task.attention import attend
from metalbench.task.dtypes import dtype
from metalbench.task.inputs import Input

Array = np.ndarray[Any, Any]


def text_starts() -> Input:
    """Return where `texts` texts begin in `tokens` tokens, and where the last ends: (texts + 1).

    Any length is possible, also none.
    """

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        between = np.sort(random.integers(0, values["tokens"] + 1, shape[0] - 2))
        return np.concatenate([[0], between, [values["tokens"]]]).astype(np.uint32)

    return Input(
        (parse("texts + 1"),), dtype("uint32"), "where texts begin, ascending", draw, together=True
    )


def attend_texts(
    q: Array,
    k: Array,
    v: Array,
    starts: Array,
    key_starts: Array | None = None,
    *,
    sizes: bool = False,
) -> Array:
    """Return the causal attention (tokens, heads, dims) of packed texts, each to its own keys.

    `q` is (tokens, heads, dims). Keys and values are (rows, kv_heads, dims), packed by
    `key_starts`; the last query of a text sees all of them. With `sizes`, return the error scale.
    """
    y = np.empty_like(q)
    ends = starts.astype(int)
    key_ends = ends if key_starts is None else key_starts.astype(int)
    for text in range(len(ends) - 1):
        own = slice(ends[text], ends[text + 1])
        rows = slice(key_ends[text], key_ends[text + 1])
        tokens, keys = own.stop - own.start, rows.stop - rows.start
        if tokens:
            heads = (each.swapaxes(0, 1) for each in (q[own], k[rows], v[rows]))
            seen = np.tri(tokens, keys, keys - tokens) > 0
            y[own] = attend(*heads, seen=seen, sizes=sizes).swapaxes(0, 1)
    return y


def attend_texts_with_mlx(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Return MLX's attention of packed texts, in one call with a mask (tokens, rows)."""
    heads = (each.swapaxes(0, 1)[None] for each in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    return mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=mask)[0].swapaxes(0, 1)
