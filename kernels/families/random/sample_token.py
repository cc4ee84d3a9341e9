"""A token of every row of logits: penalty, temperature, top-k, top-p, min-p, Gumbel's numbers."""

from metalbench.task import output, task
from metalbench.task.families import FLOATING
from metalbench.task.sampling import (
    SIZES,
    SamplingRule,
    sample_exactly,
    sample_with_mlx,
    sampling_inputs,
)


@task(
    sizes=SIZES,
    gpu_headlines=("large",),
    inputs=sampling_inputs(),
    outputs=dict(y=output("rows", dtype="uint32")),
    constants=dict(tokens=300, penalty=1.3, temperature=0.8, count=50, p=0.9, least=0.02),
    oracle=lambda logits, seen, key, tokens, penalty, temperature, count, p, least: sample_exactly(
        logits, seen, key, SamplingRule(penalty, temperature, count, p, least)
    ),
    dtypes=FLOATING,
    flops="10 * rows * vocabulary",
    baseline="mx.sort, mx.softmax, mx.cumsum, mx.random.categorical",
)
def sample_token(logits, seen, key, tokens, penalty, temperature, count, p, least):
    return sample_with_mlx(logits, seen, key, SamplingRule(penalty, temperature, count, p, least))
