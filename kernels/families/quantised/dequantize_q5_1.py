"""Weights in GGUF's q5_1 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q5_1 = dequantize("dequantize_q5_1", gguf("q5_1"))
