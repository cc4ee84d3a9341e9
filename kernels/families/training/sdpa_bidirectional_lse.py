"""Attention without a mask that also stores each query's log-sum-exp, for the gradient."""

from metalbench.task.training import lse_task

sdpa_bidirectional_lse = lse_task(
    "sdpa_bidirectional_lse",
    "Attention without a mask that also stores each query's log-sum-exp, for the gradient.",
    causal=False,
)
