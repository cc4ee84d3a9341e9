"""Tokens in the order of their experts: one row for each of a token's choices."""

from metalbench.task import distinct, normal, output, task


@task(
    sizes=dict(
        small=dict(tokens=16, dims=32),
        odd1=dict(tokens=37, dims=33),
        odd2=dict(tokens=5, dims=130),
        seed=dict(tokens=512, dims=1024),
        large=dict(tokens=8192, dims=2048),
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("tokens", "dims"), order=distinct("tokens * k", below="tokens * k")),
    outputs=dict(rows=output("tokens * k", "dims")),
    constants=dict(k=4),
    oracle=lambda x, order, k: x[order // k],
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    baseline="x[order // k]",
)
def moe_permute(x, order, k):
    return x[order // k]
