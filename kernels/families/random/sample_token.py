"""A token of every row of logits: penalty, temperature, top-k, top-p, min-p, Gumbel's numbers."""

from metalbench.task.sampling import sampling_task

sample_token = sampling_task(
    "sample_token",
    tokens=300,
    penalty=1.3,
    temperature=0.8,
    count=50,
    p=0.9,
    least=0.02,
)
