"""Weights in GGUF's q4_1 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q4_1 = dequantize("dequantize_q4_1", gguf("q4_1"))
