"""Declare tasks of training: gradients of attention and of a linear layer's cross entropy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.attention import (
    GENTLE_VARIATIONS,
    attend,
    draw_prefill_size,
    prefill_inputs,
)
from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, derive, normal, output
from metalbench.task.oracles import logsumexp

Array = np.ndarray[Any, Any]

SIZES = dict(
    small=dict(heads=4, kv_heads=2, tokens=16, dims=32),
    odd1=dict(heads=3, kv_heads=1, tokens=37, dims=80),
    odd2=dict(heads=2, kv_heads=2, tokens=130, dims=72),
    seed=dict(heads=4, kv_heads=2, tokens=128, dims=64),
    large=dict(heads=32, kv_heads=8, tokens=2048, dims=128),
)


def _make_mask(tokens: int, causal: bool) -> Array | None:
    return np.tri(tokens) > 0 if causal else None


def find_lse(q: Array, k: Array, *, causal: bool) -> Array:
    """Return the log-sum-exp of each query's scores (heads, tokens); heads share the keys."""
    shared = len(q) // len(k)
    seen = _make_mask(q.shape[1], causal)
    found = np.empty_like(q, shape=q.shape[:2])
    for h in range(len(q)):
        scores = q[h] @ k[h // shared].T / math.sqrt(q.shape[-1])
        found[h] = logsumexp(scores if seen is None else np.where(seen, scores, -np.inf))
    return found


def attention_gradients(
    given: Mapping[str, Array], *, causal: bool, sizes: bool = False
) -> tuple[Array, Array, Array]:
    """Return the gradients of `q`, `k` and `v` from these, `y`, `lse` and `dy`, by name.

    With `sizes`, return the error scale instead: sums of absolute terms times 1 + the score.
    """
    q, k, v, y, lse, dy = (given[name] for name in ("q", "k", "v", "y", "lse", "dy"))
    scale, shared = 1 / math.sqrt(q.shape[-1]), len(q) // len(k)
    seen = _make_mask(q.shape[1], causal)
    dq, dk, dv = (np.zeros_like(each, order="C") for each in (q, k, v))
    for h in range(len(q)):
        query, key, value, result, g = q[h], k[h // shared], v[h // shared], y[h], dy[h]
        scores = scale * (query @ key.T)
        p = np.exp(scores - lse[h][:, None])
        if seen is not None:
            p = np.where(seen, p, 0)
        if sizes:
            query, key, value, result, g = map(np.abs, (query, key, value, result, g))
            p = p * (1 + np.abs(scores))
        products, sums = g @ value.T, (g * result).sum(axis=-1, keepdims=True)
        ds = scale * p * (products + sums if sizes else products - sums)
        dq[h] = ds @ key
        dk[h // shared] += ds.T @ query
        dv[h // shared] += p.T @ g
    return dq, dk, dv


def lse_task(name: str, description: str, *, causal: bool) -> Task:
    """Return the task of attention that also stores the log-sum-exp of each query's scores."""

    def oracle(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        y = attend(q, k, v, seen=_make_mask(q.shape[1], causal))
        return y, find_lse(q, k, causal=causal)

    def scale(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        y = attend(q, k, v, seen=_make_mask(q.shape[1], causal), sizes=True)
        largest = find_lse(np.abs(q), np.abs(k), causal=causal)
        return y, 1 + np.abs(largest)

    def reference(q: Any, k: Any, v: Any) -> Any:
        factor = 1 / math.sqrt(q.shape[-1])
        heads = (each[None] for each in (q, k, v))
        mask = "causal" if causal else None
        y = mx.fast.scaled_dot_product_attention(*heads, scale=factor, mask=mask)[0]
        return y, mx.logsumexp(_mlx_scores(q, k, causal), axis=-1)

    reference.__name__, reference.__doc__ = name, description
    return task(
        sizes=SIZES,
        gpu_headlines=("large",),
        inputs=prefill_inputs(),
        outputs=dict(
            y=output("heads", "tokens", "dims"), lse=output("heads", "tokens", dtype="float32")
        ),
        draw=draw_prefill_size,
        oracle=oracle,
        scale=scale,
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"{2 if causal else 4} * heads * tokens * tokens * dims",
        baseline="mx.fast.scaled_dot_product_attention, and mx.logsumexp of all scores",
    )(reference)


def attention_gradient_task(name: str, description: str, *, causal: bool) -> Task:
    """Return the task of attention's gradients from the stored output and log-sum-exp."""

    def forward(q: Array, k: Array, v: Array) -> Array:
        return attend(q, k, v, seen=_make_mask(q.shape[1], causal))

    def lse_of(q: Array, k: Array) -> Array:
        return find_lse(q, k, causal=causal)

    # Arguments by name, in the order of the inputs.
    def oracle(
        *, q: Array, k: Array, v: Array, y: Array, lse: Array, dy: Array
    ) -> tuple[Array, Array, Array]:
        return attention_gradients(
            {"q": q, "k": k, "v": v, "y": y, "lse": lse, "dy": dy}, causal=causal
        )

    def scale(
        *, q: Array, k: Array, v: Array, y: Array, lse: Array, dy: Array
    ) -> tuple[Array, Array, Array]:
        return attention_gradients(
            {"q": q, "k": k, "v": v, "y": y, "lse": lse, "dy": dy}, causal=causal, sizes=True
        )

    def reference(  # noqa: PLR0917 - the order of the inputs
        q: Any, k: Any, v: Any, y: Any, lse: Any, dy: Any
    ) -> Any:
        kind, factor, shared = q.dtype, 1 / math.sqrt(q.shape[-1]), len(q) // len(k)
        q, k, v, y, dy = (each.astype(mx.float32) for each in (q, k, v, y, dy))
        key, value = (mx.repeat(each, shared, axis=0) for each in (k, v))
        p = mx.exp(_mlx_scores(q, k, causal) - lse[..., None])
        sums = mx.sum(dy * y, axis=-1, keepdims=True)
        ds = factor * p * (dy @ value.swapaxes(1, 2) - sums)
        dk, dv = ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ dy
        dk, dv = (
            mx.sum(each.reshape(len(k), shared, *each.shape[1:]), axis=1) for each in (dk, dv)
        )
        return tuple(each.astype(kind) for each in (ds @ key, dk, dv))

    def fast(  # noqa: PLR0917 - the order of the inputs
        q: Any, k: Any, v: Any, y: Any, lse: Any, dy: Any
    ) -> Any:
        mask = "causal" if causal else None

        def forward(q: Any, k: Any, v: Any) -> Any:
            heads = (each[None] for each in (q, k, v))
            factor = 1 / math.sqrt(q.shape[-1])
            return mx.fast.scaled_dot_product_attention(*heads, scale=factor, mask=mask)[0]

        return tuple(mx.vjp(forward, [q, k, v], [dy])[1])

    reference.__name__, reference.__doc__ = name, description
    inputs: dict[str, Input] = {
        **prefill_inputs(),
        "y": derive("heads", "tokens", "dims", by=forward),
        "lse": derive("heads", "tokens", by=lse_of, dtype="float32"),
        "dy": normal("heads", "tokens", "dims").only(*GENTLE_VARIATIONS),
    }
    # Large values would cancel against their mean, of which a stored `y` has few digits.
    inputs["v"] = inputs["v"].only(*GENTLE_VARIATIONS)
    return task(
        sizes=SIZES,
        gpu_headlines=("large",),
        inputs=inputs,
        outputs=dict(
            dq=output("heads", "tokens", "dims"),
            dk=output("kv_heads", "tokens", "dims"),
            dv=output("kv_heads", "tokens", "dims"),
        ),
        draw=draw_prefill_size,
        oracle=oracle,
        scale=scale,
        fast=fast,
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"{5 if causal else 10} * heads * tokens * tokens * dims",
        baseline="mx.matmul, mx.exp: scores and weights stored",
    )(reference)


def _mlx_scores(q: Any, k: Any, causal: bool) -> Any:
    q, k = (each.astype(mx.float32) for each in (q, mx.repeat(k, len(q) // len(k), axis=0)))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    return mx.where(mx.tri(q.shape[1]) > 0, scores, -math.inf) if causal else scores


# Cross entropy of the logits of a linear layer with a large vocabulary.

LINEAR_SIZES = dict(
    small=dict(rows=16, dims=32, vocabulary=100),
    odd1=dict(rows=37, dims=33, vocabulary=1023),
    odd2=dict(rows=65, dims=130, vocabulary=67),
    seed=dict(rows=128, dims=128, vocabulary=2048),
    large=dict(rows=512, dims=2048, vocabulary=32768),
)


def linear_cross_entropy(hidden: Array, w: Array, target: Array) -> tuple[Array, Array]:
    """Return the loss of each row of `hidden` (rows, dims) and the log-sum-exp of its logits."""
    logits = hidden @ w.T
    lse = logsumexp(logits)
    return lse - logits[np.arange(len(logits)), target.astype(np.int64)], lse


def linear_cross_entropy_magnitude(hidden: Array, w: Array, target: Array) -> tuple[Array, Array]:
    """Return the error scale of `linear_cross_entropy`: the absolute terms of a row's logits."""
    largest = 1 + (np.abs(hidden) @ np.abs(w).T).max(axis=-1)
    return largest, largest


def linear_cross_entropy_gradients(
    hidden: Array, w: Array, target: Array, lse: Array, dloss: Array
) -> tuple[Array, Array]:
    """Return the gradients of `hidden` and `w` from the log-sum-exp and the losses' gradients."""
    shares = np.exp(hidden @ w.T - lse[:, None])
    shares[np.arange(len(shares)), target.astype(np.int64)] -= 1
    shares *= dloss[:, None]
    return shares @ w, shares.T @ hidden


def linear_cross_entropy_gradient_magnitudes(
    hidden: Array, w: Array, target: Array, lse: Array, dloss: Array
) -> tuple[Array, Array]:
    """Return the error scale of the gradients: absolute terms, times 1 + the row's logits."""
    shares = np.exp(hidden @ w.T - lse[:, None])
    shares[np.arange(len(shares)), target.astype(np.int64)] += 1
    shares *= np.abs(dloss)[:, None] * (1 + np.abs(lse))[:, None]
    return shares @ np.abs(w), shares.T @ np.abs(hidden)


# Gradients of convolutions with any taps, stride and padding. Heights and widths are those of the
# outputs. Images have `more` rows and columns after those that windows reach.

STRIDED_CONVOLUTIONS = dict(
    small=dict(batch=2, height=4, width=5, channels=8, filters=16, taps=3),
    odd1=dict(batch=1, height=7, width=6, channels=5, filters=7, taps=5),
    odd2=dict(batch=2, height=9, width=11, channels=33, filters=3, taps=1),
    odd3=dict(batch=1, height=3, width=10, channels=12, filters=20, taps=4),
    seed=dict(batch=2, height=14, width=14, channels=64, filters=128, taps=3),
    large=dict(batch=8, height=64, width=64, channels=64, filters=128, taps=3),
)


def image_extent(outputs: str) -> str:
    """Return the extent of images whose convolution has `outputs` outputs, as an expression."""
    return f"({outputs} - 1) * stride + taps - 2 * padding + more"
