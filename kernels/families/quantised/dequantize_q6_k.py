"""Weights in GGUF's q6_k as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q6_k = dequantize("dequantize_q6_k", gguf("q6_k"))
