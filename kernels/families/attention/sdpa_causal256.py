"""Causal attention of heads of up to 256 dims."""

from metalbench.task.attention import causal_task

sdpa_causal256 = causal_task(
    "sdpa_causal256",
    256,
    sizes=dict(
        small=dict(heads=4, kv_heads=2, tokens=16, dims=160),
        odd1=dict(heads=3, kv_heads=1, tokens=37, dims=232),
        odd2=dict(heads=2, kv_heads=2, tokens=70, dims=72),
        seed=dict(heads=4, kv_heads=1, tokens=192, dims=256),
        large=dict(heads=16, kv_heads=8, tokens=2048, dims=256),
    ),
)
