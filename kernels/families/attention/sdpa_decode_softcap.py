"""Attention of one query a head over a cache, with soft-capped scores, 50 tanh(s / 50)."""

from metalbench.task.soft_capping import decoding_task

# A window that no cache is longer than.
sdpa_decode_softcap = decoding_task("sdpa_decode_softcap", width=1 << 30)
