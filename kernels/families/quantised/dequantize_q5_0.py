"""Weights in GGUF's q5_0 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q5_0 = dequantize("dequantize_q5_0", gguf("q5_0"))
