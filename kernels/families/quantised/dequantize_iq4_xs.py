"""Weights in GGUF's iq4_xs as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_iq4_xs = dequantize("dequantize_iq4_xs", gguf("iq4_xs"))
