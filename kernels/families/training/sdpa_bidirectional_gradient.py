"""Gradients of attention without a mask by the stored log-sum-exp, heads sharing keys."""

from metalbench.task.training import attention_gradient_task

sdpa_bidirectional_gradient = attention_gradient_task(
    "sdpa_bidirectional_gradient",
    "Gradients of attention without a mask by the stored log-sum-exp, heads sharing keys.",
    causal=False,
)
