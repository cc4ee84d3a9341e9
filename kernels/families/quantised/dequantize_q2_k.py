"""Weights in GGUF's q2_k as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q2_k = dequantize("dequantize_q2_k", gguf("q2_k"))
