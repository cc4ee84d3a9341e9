"""Weights in mxfp8 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, mode

dequantize_mxfp8 = dequantize("dequantize_mxfp8", mode("mxfp8"))
