"""Attention of one query a head over the last 128 keys, with scores 50 tanh(s / 50)."""

from metalbench.task.soft_capping import decoding_task

sdpa_decode_softcap_window = decoding_task("sdpa_decode_softcap_window", width=128)
