"""Causal attention that also stores each query's log-sum-exp, for the gradient."""

from metalbench.task.training import lse_task

sdpa_causal_lse = lse_task(
    "sdpa_causal_lse",
    "Causal attention that also stores each query's log-sum-exp, for the gradient.",
    causal=True,
)
