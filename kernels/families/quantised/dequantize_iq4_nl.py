"""Weights in GGUF's iq4_nl as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, gguf

dequantize_iq4_nl = dequantize("dequantize_iq4_nl", gguf("iq4_nl"))
