"""Gradients of causal attention by the stored log-sum-exp, heads sharing keys."""

from metalbench.task.training import attention_gradient_task

sdpa_causal_gradient = attention_gradient_task(
    "sdpa_causal_gradient",
    "Gradients of causal attention by the stored log-sum-exp, heads sharing keys.",
    causal=True,
)
