"""Weights in GGUF's q4_0 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q4_0 = dequantize("dequantize_q4_0", gguf("q4_0"))
