"""A bias added to long rows."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=1000), odd=dict(n=1023), seed=dict(n=100000)),
    inputs=dict(x=normal("n"), b=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x, b: x + b,
    flops="n",
)
def long_bias(x, b):
    return x + b
