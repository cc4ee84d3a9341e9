"""Weights in GGUF's q8_0 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_q8_0 = dequantize("dequantize_q8_0", gguf("q8_0"))
