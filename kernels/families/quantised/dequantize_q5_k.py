"""Weights in GGUF's q5_k as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q5_k = dequantize("dequantize_q5_k", gguf("q5_k"))
