"""Weights in GGUF's q3_k as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q3_k = dequantize("dequantize_q3_k", gguf("q3_k"))
