"""Causal attention of several texts of different lengths, one behind the other in one array."""

import mlx.core as mx

from metalbench.task import output, task
from metalbench.task.attention import GENTLE_VARIATIONS
from metalbench.task.inputs import normal
from metalbench.task.packed_texts import attend_texts, attend_texts_with_mlx, text_starts


@task(
    sizes=dict(
        small=dict(texts=3, heads=4, kv_heads=2, tokens=41, dims=32),
        odd1=dict(texts=5, heads=3, kv_heads=1, tokens=97, dims=80),
        odd2=dict(texts=1, heads=2, kv_heads=2, tokens=37, dims=72),
        seed=dict(texts=4, heads=8, kv_heads=2, tokens=512, dims=64),
        large=dict(texts=8, heads=32, kv_heads=8, tokens=4096, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        q=normal("tokens", "heads", "dims").only(*GENTLE_VARIATIONS),
        k=normal("tokens", "kv_heads", "dims").only(*GENTLE_VARIATIONS),
        v=normal("tokens", "kv_heads", "dims"),
        starts=text_starts(),
    ),
    outputs=dict(y=output("tokens", "heads", "dims")),
    draw=lambda random: dict(
        texts=int(random.integers(1, 7)),
        heads=4,
        kv_heads=int(2 ** random.integers(0, 3)),
        tokens=int(random.integers(16, 257)),
        dims=8 * int(random.integers(4, 17)),
    ),
    oracle=lambda q, k, v, starts: attend_texts(q, k, v, starts),
    scale=lambda q, k, v, starts: attend_texts(q, k, v, starts, sizes=True),
    dtypes=("float32", "float16", "bfloat16"),
    # Of texts of equal length.
    flops="2 * heads * tokens * tokens / texts * dims",
    bytes="itemsize * tokens * dims * 2 * (heads + kv_heads) + 4 * texts",
    baseline="mx.fast.scaled_dot_product_attention(mask=)",
)
def sdpa_varlen(q, k, v, starts):
    at = mx.arange(len(q))
    text = (at[:, None] >= starts[1:]).sum(axis=-1)
    mask = (text[:, None] == text) & (at[:, None] >= at)
    return attend_texts_with_mlx(q, k, v, mask)
