"""Declare tasks of attention with soft-capping: scores s become cap tanh(s / cap).

Gemma 2 has it: Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.attention import (
    GENTLE_VARIATIONS,
    attend,
    decoding_inputs,
    draw_decoding_size,
    prefill_inputs,
    see_window,
)
from metalbench.task.declaration import Task, task
from metalbench.task.inputs import normal, output

Array = np.ndarray[Any, Any]
CAP = 50.0


def attend_with_cap(q: Any, k: Any, v: Any, cap: float, mask: Any) -> Any:
    """Return MLX's attention (heads, queries, dims) with capped scores, heads sharing keys."""
    heads, queries, dims = q.shape
    grouped = (q / math.sqrt(dims)).reshape(len(k), -1, queries, dims)
    scores = grouped @ k[:, None].swapaxes(-1, -2)
    scores = cap * mx.tanh(scores / cap)
    if mask is not None:
        scores = mx.where(mask, scores, -math.inf)
    return (mx.softmax(scores, axis=-1, precise=True) @ v[:, None]).reshape(heads, queries, dims)


def prefill_task(name: str, *, width: int) -> Task:
    """Return the task of causal attention to the last `width` tokens with capped scores.

    Queries are six times as large as keys, so that scores come near the cap.
    """

    def oracle(q: Array, k: Array, v: Array, cap: float, width: int) -> Array:
        return attend(q, k, v, seen=see_window(q.shape[1], width), cap=cap)

    def scale(q: Array, k: Array, v: Array, cap: float, width: int) -> Array:
        return attend(q, k, v, seen=see_window(q.shape[1], width), cap=cap, sizes=True)

    def reference(q: Any, k: Any, v: Any, cap: float, width: int) -> Any:
        at = mx.arange(q.shape[1])
        behind = at[:, None] - at
        return attend_with_cap(q, k, v, cap, (behind >= 0) & (behind < width))

    reference.__name__ = name
    return task(
        sizes=dict(
            small=dict(heads=4, kv_heads=2, tokens=16, dims=32),
            odd1=dict(heads=3, kv_heads=1, tokens=37, dims=232),
            odd2=dict(heads=2, kv_heads=2, tokens=130, dims=72),
            seed=dict(heads=4, kv_heads=2, tokens=192, dims=256),
            large=dict(heads=16, kv_heads=8, tokens=2048, dims=256),
        ),
        gpu_headlines=("large",),
        inputs=dict(
            prefill_inputs(),
            q=normal("heads", "tokens", "dims", deviation=6.0).only(*GENTLE_VARIATIONS),
        ),
        outputs=dict(y=output("heads", "tokens", "dims")),
        draw=lambda random: dict(
            heads=4,
            kv_heads=int(2 ** random.integers(0, 3)),
            tokens=int(random.integers(16, 130)),
            dims=8 * int(random.integers(4, 33)),
        ),
        constants=dict(cap=CAP, width=width),
        oracle=oracle,
        scale=scale,
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"4 * heads * tokens * min(tokens / 2, {width}) * dims",
        baseline="mx.matmul, mx.tanh, mx.softmax",
    )(reference)


def decoding_task(name: str, *, width: int) -> Task:
    """Return the task of attention of one query a head to the last `width` keys of a cache."""

    def oracle(q: Array, k: Array, v: Array, cap: float, width: int) -> Array:
        return attend(q[:, None], k[:, -width:], v[:, -width:], cap=cap)[:, 0]

    def scale(q: Array, k: Array, v: Array, cap: float, width: int) -> Array:
        return attend(q[:, None], k[:, -width:], v[:, -width:], cap=cap, sizes=True)[:, 0]

    def reference(q: Any, k: Any, v: Any, cap: float, width: int) -> Any:
        return attend_with_cap(q[:, None], k[:, -width:], v[:, -width:], cap, None)[:, 0]

    reference.__name__ = name
    return task(
        sizes=dict(
            small=dict(heads=4, kv_heads=2, keys=37, dims=32),
            odd1=dict(heads=3, kv_heads=3, keys=153, dims=81),
            odd2=dict(heads=5, kv_heads=1, keys=130, dims=256),
            seed=dict(heads=16, kv_heads=8, keys=600, dims=256),
            large=dict(heads=16, kv_heads=8, keys=8192, dims=256),
        ),
        gpu_headlines=("large",),
        inputs=dict(
            decoding_inputs(), q=normal("heads", "dims", deviation=6.0).only(*GENTLE_VARIATIONS)
        ),
        outputs=dict(y=output("heads", "dims")),
        draw=draw_decoding_size,
        constants=dict(cap=CAP, width=width),
        oracle=oracle,
        scale=scale,
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"4 * heads * min(keys, {width}) * dims",
        bytes=f"itemsize * dims * (2 * heads + 2 * kv_heads * min(keys, {width}))",
        baseline="mx.matmul, mx.tanh, mx.softmax",
    )(reference)
