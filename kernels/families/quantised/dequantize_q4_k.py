"""Weights in GGUF's q4_k as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q4_k = dequantize("dequantize_q4_k", gguf("q4_k"))
