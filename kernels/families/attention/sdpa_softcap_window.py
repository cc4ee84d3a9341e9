"""Attention to the last 64 tokens with soft-capped scores, 50 tanh(s / 50)."""

from metalbench.task.soft_capping import prefill_task

sdpa_softcap_window = prefill_task("sdpa_softcap_window", width=64)
