"""Causal attention with soft-capped scores, 50 tanh(s / 50), and heads of up to 256 dims."""

from metalbench.task.soft_capping import prefill_task

# A window that no text is longer than.
sdpa_softcap = prefill_task("sdpa_softcap", width=1 << 30)
