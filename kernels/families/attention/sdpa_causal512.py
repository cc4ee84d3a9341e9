"""Causal attention of heads of up to 512 dims."""

from metalbench.task.attention import causal_task

sdpa_causal512 = causal_task(
    "sdpa_causal512",
    512,
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=16, dims=288),
        odd1=dict(heads=3, kv_heads=1, tokens=37, dims=456),
        odd2=dict(heads=2, kv_heads=2, tokens=70, dims=512),
        seed=dict(heads=4, kv_heads=1, tokens=128, dims=512),
        large=dict(heads=8, kv_heads=4, tokens=2048, dims=512),
    ),
)
