"""Weights in mxfp4 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, mode

dequantize_mxfp4 = dequantize("dequantize_mxfp4", mode("mxfp4"))
