"""A token of every row of logits, of the fewest whose probabilities reach 0.9."""

from metalbench.task.sampling import sampling_task

sample_top_p = sampling_task(
    "sample_top_p",
    tokens=1,
    penalty=1.0,
    temperature=0.7,
    count=0,
    p=0.9,
    least=0.0,
)
